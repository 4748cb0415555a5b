import type { HeaderDialect } from '../header-dialect.js';
import { wholeSeconds } from '../retry-after.js';
import { tightest } from './tightest.js';

/**
 * draft-ietf-httpapi-ratelimit-headers-06: the tightest policy in three fields, and all policies in a fourth.
 *
 * @example
 * RateLimit-Limit: 100
 * RateLimit-Remaining: 50
 * RateLimit-Reset: 30
 * RateLimit-Policy: 100;w=60
 */
export const draft6: HeaderDialect = {
  // Every policy has a window here, in whole seconds: a shorter one is announced as one second.
  describe: ({ quota: { limit, windowMs } }) => `${limit};w=${wholeSeconds(windowMs)}`,

  write: (decisions, descriptions, set) => {
    const { limit, remaining, resetMs } = tightest(decisions);
    set('RateLimit-Limit', String(limit));
    set('RateLimit-Remaining', String(remaining));
    set('RateLimit-Reset', String(wholeSeconds(resetMs)));
    set('RateLimit-Policy', descriptions.join(', '));
  },
};
