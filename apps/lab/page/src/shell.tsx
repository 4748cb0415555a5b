import { type ComponentChildren, createContext, render } from 'preact';
import { useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { DARK, LIGHT, type Palette } from '../../src/side-by-side/palette.js';
import {
  directionOf,
  keepPreferences,
  LANGUAGES,
  readPreferences,
  type Theme,
  THEMES,
} from './preferences.js';
import type { Texts } from './texts/en.js';

/** What everything that is shown goes by. */
export interface Look {
  readonly texts: Texts;
  readonly direction: 'ltr' | 'rtl';
  readonly palette: Palette;
}

const LookContext = createContext<Look | undefined>(undefined);

export function useLook(): Look {
  const look = useContext(LookContext);
  if (look === undefined) throw new Error('This is shown outside of the shell.');
  return look;
}

type Page = 'lab' | 'live';
const PAGES = { lab: './index.html', live: './live.html' } as const satisfies Record<Page, string>;

/** Shows a page with all that is around it, in the whole window. */
export function show(page: Page, content: ComponentChildren): void {
  render(<Shell page={page}>{content}</Shell>, document.body);
}

function Shell({ page, children }: { readonly page: Page; readonly children: ComponentChildren }) {
  const [preferences, setPreferences] = useState(readPreferences);
  const { language, theme } = preferences;
  const palette = usePalette(theme);
  const direction = directionOf(language);
  const texts = LANGUAGES[language]!;
  const look = useMemo(() => ({ texts, direction, palette }), [texts, direction, palette]);
  const { shell } = texts;

  useEffect(() => {
    const { documentElement: html } = document;
    html.lang = language;
    html.dir = direction;
    html.dataset['theme'] = palette === DARK ? 'dark' : 'light';
    for (const [name, colour] of Object.entries(palette)) html.style.setProperty(`--${name}`, colour);
    document.title = texts[page].title;
  }, [language, direction, palette, texts, page]);

  const choose = (changes: Partial<typeof preferences>) => {
    const chosen = { ...preferences, ...changes };
    keepPreferences(chosen);
    setPreferences(chosen);
  };
  return (
    <LookContext.Provider value={look}>
      <a class="skip" href="#content">
        {shell.skip}
      </a>
      <header class="top">
        <span class="name" dir="ltr">
          nestjs-valkey-rate-limit
        </span>
        <nav aria-label={shell.pages}>
          {(['lab', 'live'] as const).map((each) => (
            <a
              key={each}
              href={`${PAGES[each]}?lang=${language}`}
              aria-current={each === page ? 'page' : undefined}
            >
              {shell[each]}
            </a>
          ))}
        </nav>
        <label>
          <span>{shell.language}</span>
          <select
            data-testid="language"
            value={language}
            onChange={({ currentTarget }) => choose({ language: currentTarget.value })}
          >
            {Object.entries(LANGUAGES).map(([code, its]) => (
              <option key={code} value={code} lang={code}>
                {its.language}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span>{shell.theme}</span>
          <select
            data-testid="theme"
            value={theme}
            onChange={({ currentTarget }) => choose({ theme: currentTarget.value as Theme })}
          >
            {THEMES.map((each) => (
              <option key={each} value={each}>
                {shell.themes[each]}
              </option>
            ))}
          </select>
        </label>
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      <footer>{shell.footer[page]}</footer>
    </LookContext.Provider>
  );
}

/** The colours that are chosen, or those of the system, also when it changes its mind. */
function usePalette(theme: Theme): Palette {
  const system = useMemo(() => matchMedia('(prefers-color-scheme: dark)'), []);
  const [isDark, setIsDark] = useState(system.matches);
  useEffect(() => {
    const change = () => setIsDark(system.matches);
    system.addEventListener('change', change);
    return () => system.removeEventListener('change', change);
  }, [system]);
  return (theme === 'system' ? isDark : theme === 'dark') ? DARK : LIGHT;
}
