import type { Duration } from '../../decision/duration.js';
import { defineAlgorithm } from '../algorithm.js';
import { MAX_LIMIT, MAX_WINDOW_MS } from '../limits.js';
import { step, verdicts, type WindowState } from '../window/window.js';
import lua from '../window/window.lua.js';

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

export const fixedWindow = defineAlgorithm<FixedWindowOptions, FixedWindowParams, WindowState>({
  id: 'fw',
  compile: (options) => ({
    limit: options.integer('limit', { min: 0, max: MAX_LIMIT }),
    window: options.duration('window', { min: 1, max: MAX_WINDOW_MS }),
  }),
  quota: ({ limit, window }) => ({ limit, windowMs: window, unit: 'requests' }),
  args: ({ limit, window }) => [limit, window],
  readings: 2,
  step: (state, now, ask, { limit, window }) => {
    const start = now - (now % window);
    return step(state, now, ask, limit, { start, end: start + window });
  },
  ...verdicts,
  lua,
});
