import { ar } from './texts/ar.js';
import { en, type Texts } from './texts/en.js';

/** Every language that there is, each with a file of its own. */
export const LANGUAGES: Readonly<Record<string, Texts>> = { en, ar };
const RIGHT_TO_LEFT = new Set(['ar']);

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

export interface Preferences {
  readonly language: string;
  readonly theme: Theme;
}

/** What the address says, else what was chosen here before, else what the browser says. */
export function readPreferences(query = new URLSearchParams(location.search)): Preferences {
  return {
    language:
      known(query.get('lang')) ?? known(stored('lang')) ?? known(navigator.language.split('-')[0]) ?? 'en',
    theme: knownTheme(query.get('theme')) ?? knownTheme(stored('theme')) ?? 'system',
  };
}

function known(language: string | null | undefined): string | undefined {
  return language != null && Object.hasOwn(LANGUAGES, language) ? language : undefined;
}

function knownTheme(word: string | null): Theme | undefined {
  return THEMES.find((theme) => theme === word);
}

/** Remembers what was chosen, where the browser allows it, and has the address say the language. */
export function keepPreferences({ language, theme }: Preferences): void {
  store('lang', language);
  store('theme', theme);
  const query = new URLSearchParams(location.search);
  query.set('lang', language);
  query.delete('theme');
  history.replaceState(null, '', `?${query}`);
}

export function directionOf(language: string): 'ltr' | 'rtl' {
  return RIGHT_TO_LEFT.has(language) ? 'rtl' : 'ltr';
}

// A browser may forbid storage, and then says so by throwing.
function stored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function store(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // It is chosen again next time.
  }
}
