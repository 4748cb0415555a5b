import { RateLimitConfigError } from '../../decision/config-error.js';
import type { DeniedVerdict } from '../../decision/decision.js';
import type { OptionReader } from '../../decision/option-reader.js';
import type { Ask, Quota, Step } from '../algorithm.js';
import { ceilDiv, floorDiv, gcd } from '../integer.js';
import { MAX_LIMIT, MAX_WINDOW_MS } from '../limits.js';

/**
 * A bucket that `limit` per `window` flows into (token-bucket) or out of (leaky-bucket): the same arithmetic, seen from
 * its two sides. Units are chosen so that everything is an integer: a token is `token` units, and `rate` units flow in
 * each millisecond.
 */
export interface BucketParams {
  readonly limit: number;
  readonly window: number;
  /** In units; not always a multiple of a token. */
  readonly capacity: number;
  readonly token: number;
  readonly rate: number;
}

/** `missing` whole tokens, as of `part / scale` milliseconds before `since` (docs/adr/0003-bucket-state.md). */
export type BucketState = readonly [since: number, missing: number, part: number, scale: number];

/** The finest rate whose fractions of a millisecond come back exactly from the decimal digits they are kept in. */
const MAX_RATE = 10_000_000;

/**
 * Reads `limit`, `window` and `burst`.
 *
 * @throws {RateLimitConfigError} also for numbers that could not be counted exactly
 */
export function compileBucket(options: OptionReader): BucketParams {
  const limit = options.integer('limit', { min: 0, max: MAX_LIMIT });
  const window = options.duration('window', { min: 1, max: MAX_WINDOW_MS });
  const burst = options.integer('burst', { min: 0, max: MAX_LIMIT }, limit);
  if (limit === 0) return { limit, window, capacity: 0, token: 1, rate: 1 };
  const divisor = gcd(limit, window);
  const [token, rate] = [window / divisor, limit / divisor];

  const problem = `limit ${limit} in ${window} ms with burst ${burst} cannot be counted exactly`;
  if (rate > MAX_RATE) {
    throw new RateLimitConfigError(
      'INEXACT',
      options.where,
      `${problem}: it is ${rate} tokens in ${token} ms in lowest terms, and the most is ${MAX_RATE}. Choose a rounder ` +
        'limit, or fixed-window.',
    );
  }
  // Half, because what is used and what is asked for are added before they are compared.
  const most = floorDiv(floorDiv(Number.MAX_SAFE_INTEGER, 2) - rate, token);
  if (burst > most) {
    throw new RateLimitConfigError(
      'INEXACT',
      options.where,
      `${problem}: it needs integers above 2^53. The highest burst at this limit is ${most}. Lower it, choose a ` +
        'rounder limit, or fixed-window.',
    );
  }
  return { limit, window, capacity: burst * token, token, rate };
}

export function quota({ limit, window, capacity, token }: BucketParams): Quota {
  return { limit, windowMs: window, unit: 'requests', capacity: floorDiv(capacity, token) };
}

export function step(
  state: BucketState | undefined,
  now: number,
  { cost, at = now }: Ask,
  params: BucketParams,
): Step<BucketState> {
  const { capacity, token, rate } = params;
  const early = state !== undefined && state[0] > now;
  const found = state === undefined ? 0 : unitsMissing(state, early ? state[0] : now, params);
  // What the clock could not have left behind, or what an earlier, larger policy left: bring it into range.
  const foreign = early || found > capacity;
  const used = Math.min(found, capacity);

  const allowed = cost <= 0 || used + cost * token <= capacity;
  const change = cost < 0 ? givenBack(-cost, now - at, params) : cost * token;
  const total = allowed ? Math.max(0, used + change) : used;
  const writes = allowed ? change !== 0 : foreign && used > 0;
  return {
    allowed,
    reading: [used],
    state: writes ? toState(total, now, params) : undefined,
    ttlMs: ceilDiv(total, rate),
  };
}

/** What has flowed back by itself since it was taken is not given a second time. */
function givenBack(cost: number, elapsed: number, { token, rate }: BucketParams): number {
  return Math.min(0, Math.max(0, elapsed) * rate - cost * token);
}

function unitsMissing(state: BucketState, now: number, { token, rate }: BucketParams): number {
  // By index: it runs for every decision, and taking a list apart costs more.
  const flowed = (now - state[0]) * rate + floorDiv(state[2] * rate, state[3]);
  return Math.max(0, state[1] * token - flowed);
}

/** Whole tokens, as of when they were whole. */
function toState(units: number, now: number, { token, rate }: BucketParams): BucketState {
  const missing = ceilDiv(units, token);
  const flowed = missing * token - units;
  const fraction = flowed % rate;
  let scale = 1;
  while (scale < rate) scale *= 10;
  return [now - (flowed - fraction) / rate, missing, ceilDiv(fraction * scale, rate), scale];
}

/** What a client is told of a bucket from which `used` units are missing. Copied by name: it is done for each decision. */
export function usage(used: number, { capacity, token, rate }: BucketParams) {
  const free = capacity - used;
  const remaining = floorDiv(free, token);
  const full = floorDiv(capacity, token);
  return {
    remaining,
    nextMs: remaining < full ? ceilDiv((remaining + 1) * token - free, rate) : 0,
    resetMs: remaining < full ? ceilDiv(full * token - free, rate) : 0,
  };
}

export function denied([used]: readonly number[], cost: number, params: BucketParams): DeniedVerdict {
  const { capacity, token, rate } = params;
  const needed = cost * token;
  const retryAfterMs = needed > capacity ? undefined : ceilDiv(used! + needed - capacity, rate);
  const { remaining, nextMs, resetMs } = usage(used!, params);
  return { outcome: 'denied', retryAfterMs, remaining, nextMs, resetMs };
}
