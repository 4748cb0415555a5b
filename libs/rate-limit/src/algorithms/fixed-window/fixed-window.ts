import type { Duration } from '../../decision/duration.js';
import { defineAlgorithm, type Step } from '../algorithm.js';
import { MAX_LIMIT, MAX_WINDOW_MS } from '../limits.js';
import lua from './fixed-window.lua.js';

/**
 * At most `limit` in each window, where windows follow the clock: with `'1m'` they begin at every full minute.
 *
 * Cheap and easy to explain. Up to twice the limit can pass around the edge of two windows.
 *
 * @example
 * { algorithm: 'fixed-window', limit: 100, window: '1m' }
 */
export interface FixedWindowOptions {
  /** How much in one window: 0 to 10^15 − 1. 0 refuses everything. */
  limit: number;
  /** 1 ms to 3,650 days. */
  window: Duration;
}

interface FixedWindowParams {
  readonly limit: number;
  readonly window: number;
}

interface FixedWindowState {
  /** When the window that was counted in ends, in milliseconds since 1970. */
  readonly end: number;
  readonly count: number;
}

export const fixedWindow = defineAlgorithm<FixedWindowOptions, FixedWindowParams, FixedWindowState>({
  compile: (options) => ({
    limit: options.integer('limit', { min: 0, max: MAX_LIMIT }),
    window: options.duration('window', { min: 1, max: MAX_WINDOW_MS }),
  }),
  quota: ({ limit, window }) => ({ limit, windowMs: window }),
  args: ({ limit, window }) => [limit, window],
  readings: 2,
  step,
  allowed: ([count, left], taken, params) => ({
    outcome: 'allowed',
    delayMs: 0,
    ...usage(count! + taken, left!, params),
  }),
  denied: ([count, left], cost, params) => ({
    outcome: 'denied',
    retryAfterMs: cost > params.limit ? undefined : left!,
    ...usage(count!, left!, params),
  }),
  lua,
});

function step(
  state: FixedWindowState | undefined,
  now: number,
  cost: number,
  { limit, window }: FixedWindowParams,
): Step<FixedWindowState> {
  const left = window - (now % window);
  const end = now + left;
  const running = state !== undefined && state.end > now;
  const count = running ? state.count : 0;
  const allowed = cost === 0 || cost <= limit - count;
  // A window that ends at another time than the clock says was counted before the clock stepped back, or with another
  // window: its count goes into the window of now, or the end that is promised would not come true.
  const misplaced = running && state.end !== end;
  const writes = allowed ? cost > 0 : misplaced;
  const total = allowed ? count + cost : count;
  return {
    allowed,
    reading: [count, left],
    state: writes ? { end, count: total } : undefined,
    ttlMs: total > 0 ? left : 0,
  };
}

function usage(count: number, left: number, { limit }: FixedWindowParams) {
  const wait = count > 0 ? left : 0;
  return { remaining: Math.max(0, limit - count), nextMs: wait, resetMs: wait };
}
