import type { Duration } from '../../decision/duration.js';
import { RateLimitConfigError } from '../../decision/config-error.js';
import { defineAlgorithm, type Step } from '../algorithm.js';
import { ceilDiv, floorDiv, gcd } from '../integer.js';
import { MAX_LIMIT, MAX_WINDOW_MS } from '../limits.js';
import lua from './token-bucket.lua.js';

/**
 * A bucket of `burst` tokens, refilled evenly at `limit` per `window`. A request takes `cost` tokens.
 *
 * Allows short bursts and keeps the average. Equivalent to the generic cell rate algorithm (ITU-T I.371, Annex A), but
 * kept as whole tokens and the time as of which they were missing, so that usage carries over when the limit changes.
 *
 * @example
 * { algorithm: 'token-bucket', limit: 600, window: '1m', burst: 50 }   // 10 a second, at most 50 at once
 */
export interface TokenBucketOptions {
  /** How many tokens flow in per window: 0 to 10^15 − 1. 0 refuses everything. */
  limit: number;
  /** 1 ms to 3,650 days. */
  window: Duration;
  /** The capacity: 0 to 10^15 − 1. Left out: `limit`. */
  burst?: number;
}

/** Units are chosen so that everything is an integer: a token is `token` units, and `rate` units flow in each ms. */
interface TokenBucketParams {
  readonly limit: number;
  readonly window: number;
  readonly burst: number;
  readonly token: number;
  readonly rate: number;
}

/** `missing` whole tokens, as of `part / scale` milliseconds before `since`. */
interface TokenBucketState {
  readonly since: number;
  readonly part: number;
  readonly scale: number;
  readonly missing: number;
}

/** The finest rate whose fractions of a millisecond come back exactly from the decimal digits they are kept in. */
const MAX_RATE = 10_000_000;

export const tokenBucket = defineAlgorithm<TokenBucketOptions, TokenBucketParams, TokenBucketState>({
  compile: (options) => {
    const limit = options.integer('limit', { min: 0, max: MAX_LIMIT });
    const window = options.duration('window', { min: 1, max: MAX_WINDOW_MS });
    const burst = options.integer('burst', { min: 0, max: MAX_LIMIT }, limit);
    if (limit === 0) return { limit, window, burst: 0, token: 1, rate: 1 };
    const divisor = gcd(limit, window);
    const params = { limit, window, burst, token: window / divisor, rate: limit / divisor };
    refuseInexact(options.where, params);
    return params;
  },
  quota: ({ limit, window }) => ({ limit, windowMs: window }),
  args: ({ burst, token, rate }) => [burst * token, token, rate],
  readings: 1,
  step,
  allowed: ([used], taken, params) => ({
    outcome: 'allowed',
    delayMs: 0,
    ...usage(used! + taken * params.token, params),
  }),
  denied: ([used], cost, params) => {
    const { burst, token, rate } = params;
    return {
      outcome: 'denied',
      retryAfterMs: cost > burst ? undefined : ceilDiv(used! + (cost - burst) * token, rate),
      ...usage(used!, params),
    };
  },
  lua,
});

function refuseInexact(where: string, { limit, window, burst, token, rate }: TokenBucketParams): void {
  const problem = `limit ${limit} in ${window} ms with burst ${burst} cannot be counted exactly`;
  if (rate > MAX_RATE) {
    throw new RateLimitConfigError(
      'INEXACT',
      where,
      `${problem}: it is ${rate} tokens in ${token} ms in lowest terms, and the most is ${MAX_RATE}. Choose a rounder ` +
        'limit, or fixed-window.',
    );
  }
  // Half, because what is used and what is asked for are added before they are compared.
  const most = floorDiv(floorDiv(Number.MAX_SAFE_INTEGER, 2) - rate, token);
  if (burst <= most) return;
  throw new RateLimitConfigError(
    'INEXACT',
    where,
    `${problem}: it needs integers above 2^53. The highest burst at this limit is ${most}. Lower it, choose a rounder ` +
      'limit, or fixed-window.',
  );
}

function step(
  state: TokenBucketState | undefined,
  now: number,
  cost: number,
  params: TokenBucketParams,
): Step<TokenBucketState> {
  const { burst, token, rate } = params;
  const capacity = burst * token;
  const early = state !== undefined && state.since > now;
  const found = state === undefined ? 0 : unitsMissing(state, early ? state.since : now, params);
  // What the clock could not have left behind, or what an earlier, larger policy left: bring it into range.
  const foreign = early || found > capacity;
  const used = Math.min(found, capacity);

  const allowed = cost === 0 || used + cost * token <= capacity;
  const total = allowed ? used + cost * token : used;
  const writes = total > 0 && (allowed ? cost > 0 : foreign);
  return {
    allowed,
    reading: [used],
    state: writes ? toState(total, now, params) : undefined,
    ttlMs: ceilDiv(total, rate),
  };
}

function unitsMissing(
  { since, part, scale, missing }: TokenBucketState,
  now: number,
  { token, rate }: TokenBucketParams,
): number {
  return Math.max(0, missing * token - (now - since) * rate - floorDiv(part * rate, scale));
}

/** Whole tokens, as of when they were whole. */
function toState(units: number, now: number, { token, rate }: TokenBucketParams): TokenBucketState {
  const missing = ceilDiv(units, token);
  const flowed = missing * token - units;
  const fraction = flowed % rate;
  let scale = 1;
  while (scale < rate) scale *= 10;
  return {
    since: now - (flowed - fraction) / rate,
    part: ceilDiv(fraction * scale, rate),
    scale,
    missing,
  };
}

function usage(used: number, { burst, token, rate }: TokenBucketParams) {
  const free = burst * token - used;
  const part = free % token;
  return {
    remaining: (free - part) / token,
    nextMs: used > 0 ? ceilDiv(token - part, rate) : 0,
    resetMs: ceilDiv(used, rate),
  };
}
