/** Between which numbers a limit stays, whatever is measured. */
export interface Bounds {
  readonly floor: number;
  readonly ceiling: number;
}

/** What is known so far. */
export interface Estimate {
  /** How many at once, not rounded: small steps add up. From `floor` to `ceiling`. */
  readonly limit: number;
  /** How long work takes in the long run, in milliseconds; `undefined` before the first measurement. */
  readonly longMs: number | undefined;
  /** How long it took of late: the same with a short memory. */
  readonly recentMs: number | undefined;
  /** How many measurements there were, up to `WARM_UP`. */
  readonly windows: number;
}

/** What was seen in a stretch of time. */
export interface Measurement {
  /** How long the work took that ended in it, on average, in milliseconds. */
  readonly averageMs: number;
  /** How many places were in use at the most. */
  readonly inUse: number;
}

/** Work may take so many times as long as in the long run before the limit falls. */
const TOLERANCE = 1.5;

/** The limit never falls to less than half at once, before smoothing. */
const LEAST_GRADIENT = 0.5;

/** How much of the way to the new limit is gone at a time, and how much of it that to the latency of late. */
const SMOOTHING = 0.2;

/** As many measurements the long-term average remembers. */
const LONG_WINDOWS = 300;

/** Until there are so many, it is their plain average. */
const WARM_UP = 10;

/** How much slower it learns from measurements in which work queued. */
const QUEUED_SHARE = 1 / 20;

/** Where the long-term average is above so many times the latency of late, it is out of date. */
const OUTDATED = 2;
const OUTDATED_SHRINKS = 0.95;

/** Of what takes no time that can be measured, in milliseconds. */
const SHORTEST_MS = 0.001;

export function firstEstimate({ floor }: Bounds): Estimate {
  return { limit: floor, longMs: undefined, recentMs: undefined, windows: 0 };
}

/**
 * The Gradient2 algorithm as published with Netflix's concurrency-limits (github.com/Netflix/concurrency-limits, and
 * "Performance Under Load", Netflix Technology Blog, 2018): the gradient is how much longer work takes in the long run,
 * with a tolerance, than it takes now.
 *
 *     gradient = clamp(tolerance × long / short, 0.5, 1)
 *     limit    = smooth(limit × gradient + √limit)
 *
 * While latency is what it always is the limit grows by the queue that it allows, √limit; when latency grows, work queues
 * somewhere, and the limit shrinks. A limit that is not half in use is left as it is, as its latency says nothing of it.
 *
 * One thing differs from what was published. Under a load that never lets the queue go, the long-term average would
 * become the latency with the queue, and the limit would climb to the ceiling in minutes. So it learns twenty times as
 * slowly while work has queued of late: a backend that has become slower for good is learned within an hour. That and
 * whether the average is out of date is told by the latency of late, which chance moves less than a single measurement.
 */
export function nextEstimate(
  { limit, windows, ...before }: Estimate,
  { averageMs, inUse }: Measurement,
  bounds: Bounds,
): Estimate {
  const short = Math.max(SHORTEST_MS, averageMs);
  const seen = Math.min(WARM_UP, windows + 1);
  const recentMs = towards(before.recentMs ?? short, short, SMOOTHING);
  const longMs = learn(before.longMs ?? short, short, recentMs, seen);
  const known = { longMs, recentMs, windows: seen };
  if (inUse * 2 < limit) return { ...known, limit: clamp(limit, bounds) };
  const gradient = Math.min(1, Math.max(LEAST_GRADIENT, (TOLERANCE * longMs) / short));
  const wanted = limit * gradient + Math.sqrt(limit);
  return { ...known, limit: clamp(towards(limit, wanted, SMOOTHING), bounds) };
}

function learn(long: number, short: number, recent: number, windows: number): number {
  const share = windows < WARM_UP ? 1 / windows : 1 / LONG_WINDOWS;
  // By the latency of late: a single one that is high is chance, and to leave those out would make the average too low.
  const learned = towards(long, short, recent > TOLERANCE * long ? share * QUEUED_SHARE : share);
  return learned > OUTDATED * recent ? learned * OUTDATED_SHRINKS : learned;
}

function towards(from: number, to: number, share: number): number {
  return from + (to - from) * share;
}

export function clamp(limit: number, { floor, ceiling }: Bounds): number {
  return Math.min(ceiling, Math.max(floor, limit));
}
