import type { Redis } from '../valkey/valkey.js';

/** A way to count that people write by hand, to weigh the library's against. */
export interface PlainLayout {
  readonly name: string;
  /** One request at a time in milliseconds since 1970, as it is usually written; without the decision. */
  count(client: Redis, key: string, at: number, index: number): Promise<unknown>;
}

/** Usual, because these are what a hash of floats looks like after the first division. */
const TOKENS_PER_MS = 1_000 / 3_600_000;

export const plainLayouts: readonly PlainLayout[] = [
  {
    name: 'plain: one INCR counter',
    count: (client, key) => client.incr(key),
  },
  {
    name: 'plain: sorted set, one member per request',
    // A member must be unlike all others, and the time alone is not.
    count: (client, key, at, index) => client.zadd(key, at, `${at}-${index}`),
  },
  {
    name: 'plain: hash with tokens and time',
    count: (client, key, at, index) =>
      client.hset(key, { tokens: String(1_000 - (index + 1) * (1 - TOKENS_PER_MS)), time: String(at) }),
  },
];
