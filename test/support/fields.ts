import { parseList } from 'structured-headers';

/** One member of a `RateLimit` or `RateLimit-Policy` field, such as `{ name: 'api', r: 4, t: 2 }`. */
export type Member = Record<string, unknown> & { name: unknown };

/** A field of draft-11 as a client reads it (RFC 9651); an empty list where it is missing. */
export function members(response: Response, field: 'RateLimit' | 'RateLimit-Policy'): Member[] {
  const text = response.headers.get(field);
  if (text === null) return [];
  return parseList(text).map(([name, parameters]) =>
    Object.assign({ name }, Object.fromEntries(parameters as Map<string, unknown>)),
  );
}

/** The names of every field that tells of limits, whatever the dialect. */
export function limitFields(response: Response): string[] {
  return [...response.headers.keys()].filter((name) => /rate-?limit|retry-after/.test(name)).toSorted();
}
