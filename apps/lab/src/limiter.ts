import { Logger } from '@nestjs/common';
import {
  createRateLimiter,
  type AllowedDecision,
  type DeniedDecision,
  type PolicyName,
  type RateLimiter,
  type RateLimitPolicy,
} from 'nestjs-valkey-rate-limit';
import { hasValkey, type Place } from './place.js';

/** The lab's time begins here: a round number of milliseconds since 1970, where windows of 10 s begin too. */
export const BASE = 1_000_000_000_000;

export type Counted = AllowedDecision | DeniedDecision;

/** The library with a clock that the experiment moves. */
export interface LabLimiter {
  consume(policy: string, key: string, at: number): Promise<Counted>;
  peek(policy: string, key: string, at: number): Promise<Counted>;
  release(policy: string, key: string, at: number, lease: string): Promise<void>;
}

/** Times are milliseconds after `start`. */
export async function openLimiter(
  place: Place,
  policies: Record<string, RateLimitPolicy>,
  start = BASE,
): Promise<LabLimiter> {
  let now = start;
  const limiter = await silently(() =>
    createRateLimiter({
      policies,
      prefix: place.prefix,
      clock: () => now,
      // A result that another store stood in for, or that a busy machine cut short, would be none.
      onStoreFailure: 'closed',
      deadline: '10s',
      ...(hasValkey(place) && { valkey: place.client }),
    }),
  );
  const take = async (policy: string, key: string, at: number, cost: number) => {
    now = start + at;
    return counted(await limiter.consume(policy as PolicyName, { key, cost }));
  };
  return {
    consume: (policy, key, at) => take(policy, key, at, 1),
    peek: (policy, key, at) => take(policy, key, at, 0),
    release: (policy, key, at, lease) => {
      now = start + at;
      return limiter.release(policy as PolicyName, { key, lease });
    },
  };
}

function counted(decision: Awaited<ReturnType<RateLimiter['consume']>>): Counted {
  if (decision.outcome === 'allowed' || decision.outcome === 'denied') return decision;
  if (decision.outcome !== 'unavailable') throw new Error(`The lab has nothing that is ${decision.outcome}.`);
  throw new Error(
    `The store failed in the middle of the run, which proves nothing: ${decision.cause.message}`,
    {
      cause: decision.cause,
    },
  );
}

/** The library says on the standard output where it counts, and there is to be nothing but the table. */
export async function silently<T>(work: () => Promise<T>): Promise<T> {
  Logger.overrideLogger(false);
  return work();
}
