import type { CountedDecision, HeaderDialect } from '../header-dialect.js';
import { wholeSeconds, windowSeconds } from '../retry-after.js';

/**
 * draft-ietf-httpapi-ratelimit-headers-11, both fields RFC 9651 Lists of Strings with Parameters.
 *
 * Names need no escaping: boot lets only `[a-z][a-z0-9._-]*` through. An allowed response lists every policy; a
 * refusal lists the violated ones, because the longer window of a healthy one would read as a violation.
 *
 * @example
 * RateLimit-Policy: "burst";q=100;w=60, "daily";q=1000;w=86400
 * RateLimit: "burst";r=50;t=30
 */
export const draft11: HeaderDialect = {
  describe: ({ name, quota: { limit, windowMs } }) => {
    const window = windowSeconds(windowMs);
    return `"${name}";q=${limit}${window === undefined ? '' : `;w=${window}`}`;
  },

  write: (decisions, descriptions, set) => {
    set('RateLimit-Policy', descriptions.length === 1 ? descriptions[0]! : descriptions.join(', '));
    set('RateLimit', listed(decisions));
  },
};

function listed(decisions: readonly CountedDecision[]): string {
  if (decisions.length === 1) return item(decisions[0]!);
  const violated = decisions.filter(({ outcome }) => outcome === 'denied');
  return (violated.length > 0 ? violated : decisions).map(item).join(', ');
}

function item({ policy, remaining, nextMs }: CountedDecision): string {
  return `"${policy}";r=${remaining}${nextMs > 0 ? `;t=${wholeSeconds(nextMs)}` : ''}`;
}
