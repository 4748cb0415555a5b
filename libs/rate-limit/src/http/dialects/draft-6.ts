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
  // A window is needed here, in whole seconds: a shorter one is announced as one second, and a policy without one is not.
  describe: ({ quota: { limit, windowMs } }) =>
    windowMs === undefined ? '' : `${limit};w=${wholeSeconds(windowMs)}`,

  write: (decisions, announced, set) => {
    const { limit, remaining, resetMs } = tightest(decisions);
    set('RateLimit-Limit', String(limit));
    set('RateLimit-Remaining', String(remaining));
    set('RateLimit-Reset', String(wholeSeconds(resetMs)));
    const texts = announced.map(({ text }) => text).filter((text) => text !== '');
    if (texts.length > 0) set('RateLimit-Policy', texts.join(', '));
  },
};
