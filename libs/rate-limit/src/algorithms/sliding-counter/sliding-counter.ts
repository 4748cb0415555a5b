import { RateLimitConfigError } from '../../decision/config-error.js';
import type { Duration } from '../../decision/duration.js';
import { type Ask, defineAlgorithm, type Step } from '../algorithm.js';
import { ceilDiv, floorDiv } from '../integer.js';
import { MAX_LIMIT, MAX_WINDOW_MS } from '../limits.js';
import lua from './sliding-counter.lua.js';

/**
 * About `limit` in any `window`: the count of the current window of the clock and that of the one before, weighted by
 * how much of it the last `window` still covers. Allowed is what keeps
 * floor(previous × (1 − elapsed) + current) + cost ≤ limit.
 *
 * As small as a counter and nearly as fair as a log: it assumes that the previous window's requests came evenly.
 *
 * @example
 * { algorithm: 'sliding-counter', limit: 1000, window: '1h' }
 */
export interface SlidingCounterOptions {
  /** How much in one window: 0 to 10^15 − 1, as long as limit × window stays below 2^52. 0 refuses everything. */
  limit: number;
  /** 1 ms to 3,650 days. */
  window: Duration;
}

interface SlidingCounterParams {
  readonly limit: number;
  readonly window: number;
}

/** When the window that `current` was counted in ends, in milliseconds since 1970, and the two counts. */
type SlidingCounterState = readonly [end: number, previous: number, current: number];

export const slidingCounter = defineAlgorithm<
  SlidingCounterOptions,
  SlidingCounterParams,
  SlidingCounterState
>({
  id: 'sc',
  compile: (options) => {
    const limit = options.integer('limit', { min: 0, max: MAX_LIMIT });
    const window = options.duration('window', { min: 1, max: MAX_WINDOW_MS });
    const most = floorDiv(2 ** 52, window);
    if (limit <= most) return { limit, window };
    throw new RateLimitConfigError(
      'INEXACT',
      options.where,
      `limit ${limit} in ${window} ms cannot be counted exactly: it needs integers above 2^53. The highest limit in this ` +
        `window is ${most}. Lower it, shorten the window, or take fixed-window.`,
    );
  },
  quota: ({ limit, window }) => ({ limit, windowMs: window, unit: 'requests' }),
  args: ({ limit, window }) => [limit, window],
  readings: 3,
  step,
  allowed: ([previous, current, left], taken, params) => {
    const { remaining, nextMs, resetMs } = usage(previous!, current! + taken, left!, params);
    return { outcome: 'allowed', delayMs: 0, remaining, nextMs, resetMs };
  },
  denied: ([previous, current, left], cost, params) => {
    const { limit, window } = params;
    const retryAfterMs =
      cost > limit ? undefined : untilBelow(limit - cost + 1, previous!, current!, left!, window);
    const { remaining, nextMs, resetMs } = usage(previous!, current!, left!, params);
    return { outcome: 'denied', retryAfterMs, remaining, nextMs, resetMs };
  },
  lua,
});

function step(
  state: SlidingCounterState | undefined,
  now: number,
  { cost, at = now }: Ask,
  { limit, window }: SlidingCounterParams,
): Step<SlidingCounterState> {
  const start = now - (now % window);
  const end = start + window;
  const left = end - now;
  let { previous, current, misplaced } = place(state, start, window, limit);

  const used = floorDiv(previous * left + current * window, window);
  const allowed = cost <= 0 || cost <= limit - used;
  const reading = [previous, current, left];
  if (cost > 0 && allowed) current += cost;
  if (cost < 0) {
    if (at >= start) current = Math.max(0, current + cost);
    else if (at >= start - window) previous = Math.max(0, previous + cost);
  }
  const changed = previous !== reading[0] || current !== reading[1];
  return {
    allowed,
    reading,
    state: changed || (!allowed && misplaced) ? [end, previous, current] : undefined,
    ttlMs: current > 0 ? left + window : previous > 0 ? left : 0,
  };
}

/**
 * What was counted, as of the windows of now. Counts of windows that are not the clock's (the clock stepped back, or
 * the window changed) are not taken apart: all of them count in the latest window that they reach into, up to the limit.
 */
function place(state: SlidingCounterState | undefined, start: number, window: number, limit: number) {
  if (state === undefined || state[0] <= start - window) return { previous: 0, current: 0, misplaced: false };
  const [end, previous, current] = state;
  if (end === start + window) return { previous, current, misplaced: false };
  if (end === start) return { previous: current, current: 0, misplaced: false };
  const all = Math.min(previous + current, limit);
  return end > start
    ? { previous: 0, current: all, misplaced: true }
    : { previous: all, current: 0, misplaced: true };
}

function usage(previous: number, current: number, left: number, { limit, window }: SlidingCounterParams) {
  const used = floorDiv(previous * left + current * window, window);
  // Of nothing, nothing comes back.
  const some = used > 0 && limit > 0;
  return {
    remaining: Math.max(0, limit - used),
    nextMs: some ? untilBelow(Math.min(used, limit), previous, current, left, window) : 0,
    resetMs: some ? untilBelow(1, previous, current, left, window) : 0,
  };
}

/**
 * How long until previous × (1 − elapsed) + current is below `bound`, an integer from 1, if nobody comes: in this
 * window as `previous` fades, or in the next as `current` does.
 */
function untilBelow(bound: number, previous: number, current: number, left: number, window: number): number {
  if (current < bound) return left - leftWhenBelow(bound - current, previous, window, left);
  return left + window - leftWhenBelow(bound, current, window, window);
}

/** The most that may be left of a window, up to `most`, for count × left ÷ window to be below `bound`. */
function leftWhenBelow(bound: number, count: number, window: number, most: number): number {
  return count < bound ? most : Math.min(most, ceilDiv(bound * window, count) - 1);
}
