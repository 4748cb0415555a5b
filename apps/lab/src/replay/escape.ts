import { visible } from './show.js';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return visible(text).replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
}
