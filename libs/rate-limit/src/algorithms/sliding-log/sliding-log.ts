import { RateLimitConfigError } from '../../decision/config-error.js';
import type { Duration } from '../../decision/duration.js';
import { type Ask, defineAlgorithm, type Step } from '../algorithm.js';
import { MAX_LIMIT, MAX_WINDOW_MS } from '../limits.js';
import { allowedUnits, deniedUnits } from '../units.js';
import lua from './sliding-log.lua.js';

/**
 * Never more than `limit` in any `window`, exactly: it remembers when each unit was taken.
 *
 * The fairest and the largest: about 5 bytes for each unit of the limit, so for small limits that matter, such as log-ins.
 *
 * @example
 * { algorithm: 'sliding-log', limit: 5, window: '1m' }
 */
export interface SlidingLogOptions {
  /** How much in any window: 0 to 10,000. 0 refuses everything. */
  limit: number;
  /** 1 ms to 3,650 days. */
  window: Duration;
}

interface SlidingLogParams {
  readonly limit: number;
  readonly window: number;
}

/** When each unit was taken, in milliseconds since 1970, the oldest first. */
type SlidingLogState = readonly number[];

/** A log of 10,000 is about 50 kB in Valkey for one client. */
const HIGHEST_LIMIT = 10_000;

export const slidingLog = defineAlgorithm<SlidingLogOptions, SlidingLogParams, SlidingLogState>({
  id: 'sl',
  compile: (options) => {
    const limit = options.integer('limit', { min: 0, max: MAX_LIMIT });
    const window = options.duration('window', { min: 1, max: MAX_WINDOW_MS });
    if (limit <= HIGHEST_LIMIT) return { limit, window };
    throw new RateLimitConfigError(
      'LOG_TOO_LONG',
      options.where,
      `sliding-log remembers every unit and takes limits up to ${HIGHEST_LIMIT}, not ${limit}. Take sliding-counter, ` +
        'which is nearly as fair and one number.',
    );
  },
  quota: ({ limit, window }) => ({ limit, windowMs: window, unit: 'requests' }),
  args: ({ limit, window }) => [limit, window],
  readings: 4,
  step,
  allowed: (reading, taken, { limit, window }) => allowedUnits(reading, taken, limit, window),
  denied: (reading, cost, { limit }) => deniedUnits(reading, cost, limit),
  lua,
});

function step(
  state: SlidingLogState = [],
  now: number,
  { cost, at = now }: Ask,
  { limit, window }: SlidingLogParams,
): Step<SlidingLogState> {
  const horizon = now - window;
  const first = firstAfter(state, horizon);
  const live = state.length - first;
  const foreign = live > 0 && state.at(-1)! > now;
  /** When the unit at an index leaves the window; what lies in the future was taken now. */
  const leaves = (index: number) => Math.min(state[index]!, now) - horizon;

  const last = live > 0 ? leaves(state.length - 1) : 0;
  // Of nothing, nothing comes back.
  const some = live > 0 && limit > 0;
  const next = some ? leaves(first + Math.max(0, live - limit)) : 0;
  const allowed = cost <= 0 || cost <= limit - live;
  const fits = allowed || cost > limit ? 0 : leaves(first + live + cost - limit - 1);
  const present = foreign ? state.map((time) => Math.min(time, now)) : state;
  let kept: SlidingLogState | undefined;
  if (cost < 0) kept = at > horizon ? without(state, at, -cost) : undefined;
  else if (allowed && cost > 0) kept = [...present.slice(first), ...Array.from({ length: cost }, () => now)];
  else if (!allowed && foreign) kept = present.slice(first);
  return {
    allowed,
    reading: [live, next, some ? last : 0, fits],
    state: kept,
    ttlMs: allowed && cost > 0 ? window : last,
  };
}

/** Index of the first time after `horizon`, by halves. */
function firstAfter(times: SlidingLogState, horizon: number): number {
  let [first, beyond] = [0, times.length];
  while (first < beyond) {
    const probe = (first + beyond) >> 1;
    if (times[probe]! <= horizon) first = probe + 1;
    else beyond = probe;
  }
  return first;
}

/** The times without up to `count` of those that are `at`; `undefined` where there are none. */
function without(times: SlidingLogState, at: number, count: number): SlidingLogState | undefined {
  if (!times.includes(at)) return undefined;
  let found = 0;
  return times.filter((time) => time !== at || ++found > count);
}
