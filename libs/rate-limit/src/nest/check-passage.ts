import { RateLimitConfigError } from '../decision/config-error.js';
import type { Policy } from '../limiter/policy.js';
import type { ContextAdapter } from './contexts/context-adapter.js';

/** Nobody waits longer for an answer than that. */
const LONGEST_WAIT_MS = 600_000;

/** A lease that is shorter may end while its renewal is still waited for. */
const LEAST_LEASE_MS = 1_000;
const LEAST_DEADLINES = 4;

/** @throws {RateLimitConfigError} for a policy under which a call of this kind could not wait, or hold places, to its end */
export function checkPassage(
  where: string,
  policy: Policy<never>,
  { whenEnded }: ContextAdapter,
  { deadlineMs }: { readonly deadlineMs: number },
): void {
  const { name, plans } = policy;
  for (const plan of plans.length === 0 ? [undefined] : plans) {
    const limit = policy.limitOf(plan);
    if (limit === 'unlimited') continue;
    const { queue, leaseMs } = limit.rule;
    if (queue !== undefined && queue.longestDelayMs > LONGEST_WAIT_MS) {
      throw new RateLimitConfigError(
        'UNBOUNDED_QUEUE',
        where,
        `under policy "${name}" a request could wait for ${queue.longestDelayMs} ms, and nobody waits longer than ` +
          `${LONGEST_WAIT_MS} ms for an answer. Say how long with maxWait, or lower burst.`,
      );
    }
    if (leaseMs === undefined) continue;
    if (whenEnded === undefined) {
      throw new RateLimitConfigError(
        'CONCURRENCY_ON_ROUTE',
        where,
        `policy "${name}" counts by concurrency, which handlers of HTTP routes can have: elsewhere nobody tells when a ` +
          'call has ended. Inject RateLimiter, and call consume() and release() around the work.',
      );
    }
    const least = Math.max(LEAST_LEASE_MS, LEAST_DEADLINES * deadlineMs);
    if (leaseMs >= least) continue;
    throw new RateLimitConfigError(
      'SHORT_LEASE',
      where,
      `policy "${name}" has a lease of ${leaseMs} ms, and it must be at least ${least} ms here: it is renewed three times ` +
        `in that time, and each may take the deadline of ${deadlineMs} ms. Choose a longer lease: it is what a process ` +
        'that is killed keeps its places for.',
    );
  }
}
