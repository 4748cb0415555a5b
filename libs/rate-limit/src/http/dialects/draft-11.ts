import type { Announcement, CountedDecision, HeaderDialect } from '../header-dialect.js';
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
  describe: ({ name, quota: { limit, windowMs, unit } }) => {
    const window = windowSeconds(windowMs);
    return `"${name}";q=${limit}${unit === 'requests' ? '' : `;qu="${unit}"`}${window === undefined ? '' : `;w=${window}`}`;
  },

  write: (decisions, announced, set) => {
    set('RateLimit-Policy', announced.length === 1 ? announced[0]!.text : announced.map(textOf).join(', '));
    const violated = decisions.some((decision) => decision?.outcome === 'denied');
    let field = '';
    for (let index = 0; index < decisions.length; index += 1) {
      const decision = decisions[index];
      if (decision === undefined || (violated && decision.outcome === 'allowed')) continue;
      field += (field === '' ? '' : ', ') + item(decision, announced[index]!);
    }
    set('RateLimit', field);
  },
};

function item({ policy, remaining, nextMs }: CountedDecision, { timed }: Announcement): string {
  return `"${policy}";r=${remaining}${timed && nextMs > 0 ? `;t=${wholeSeconds(nextMs)}` : ''}`;
}

function textOf({ text }: Announcement): string {
  return text;
}
