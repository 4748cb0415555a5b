import type { HeaderDialect } from '../header-dialect.js';
import { draft11 } from './draft-11.js';
import { draft6 } from './draft-6.js';
import { xRateLimit } from './x-ratelimit.js';

/** Every header dialect by name. A new one is a file and a line here. */
export const dialects = {
  /** draft-ietf-httpapi-ratelimit-headers-11: `RateLimit-Policy` and `RateLimit`. */
  'draft-11': draft11,
  /** draft-ietf-httpapi-ratelimit-headers-06: `RateLimit-Limit`, `-Remaining`, `-Reset` and `-Policy`. */
  'draft-6': draft6,
  /** The older `X-RateLimit-Limit`, `-Remaining` and `-Reset` in seconds from now. */
  'x-ratelimit': xRateLimit,
} as const satisfies Record<string, HeaderDialect>;

export type DialectName = keyof typeof dialects;
