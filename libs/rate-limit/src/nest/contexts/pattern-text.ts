/** What tells a pattern from others, as a text: the same however the members of an object are ordered. */
export function patternText(pattern: unknown): string {
  return typeof pattern === 'object' && pattern !== null ? JSON.stringify(sorted(pattern)) : String(pattern);
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, member]) => [name, sorted(member)]));
}
