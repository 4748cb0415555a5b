import type { HeaderDialect } from '../header-dialect.js';
import { wholeSeconds } from '../retry-after.js';
import { tightest } from './tightest.js';

/**
 * The fields that came before any draft: the tightest policy, its reset in seconds from now.
 *
 * @example
 * X-RateLimit-Limit: 100
 * X-RateLimit-Remaining: 50
 * X-RateLimit-Reset: 30
 */
export const xRateLimit: HeaderDialect = {
  describe: () => '',

  write: (decisions, _announced, set) => {
    const { limit, remaining, resetMs } = tightest(decisions);
    set('X-RateLimit-Limit', String(limit));
    set('X-RateLimit-Remaining', String(remaining));
    set('X-RateLimit-Reset', String(wholeSeconds(resetMs)));
  },
};
