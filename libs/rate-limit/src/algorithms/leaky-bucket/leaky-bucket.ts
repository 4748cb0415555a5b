import type { Duration } from '../../decision/duration.js';
import { defineAlgorithm } from '../algorithm.js';
import {
  type BucketParams,
  type BucketState,
  compileBucket,
  denied,
  quota,
  step,
  usage,
} from '../bucket/bucket.js';
import lua from '../bucket/bucket.lua.js';
import { ceilDiv } from '../integer.js';
import { MAX_WINDOW_MS } from '../limits.js';

/**
 * A queue that lets out `limit` per `window`, evenly, and holds at most `burst`. An allowed request is told in `delayMs`
 * when its turn is; a request of cost c takes c turns in a row.
 *
 * Protects what must never be asked faster, such as another company's API. It is the bucket of `token-bucket` seen from
 * below: the same requests are allowed, and each waits for those before it.
 *
 * @example
 * { algorithm: 'leaky-bucket', limit: 10, window: '1s', burst: 50, maxWait: '2s' }
 */
export interface LeakyBucketOptions {
  /** How many come out per window: 0 to 10^15 − 1. 0 refuses everything. */
  limit: number;
  /** 1 ms to 3,650 days. */
  window: Duration;
  /** How many may be in the queue, the one whose turn it is included: 0 to 10^15 − 1. Left out: `limit`. */
  burst?: number;
  /** Refuses what would have to wait longer for its last turn: 0 to 3,650 days. Left out: `burst` alone decides. */
  maxWait?: Duration;
  /** How many may wait in one process; the others are refused. 1 to 100,000. Left out: 1,000. */
  maxWaiting?: number;
}

interface LeakyBucketParams extends BucketParams {
  readonly maxWaiting: number;
}

export const leakyBucket = defineAlgorithm<LeakyBucketOptions, LeakyBucketParams, BucketState>({
  id: 'lb',
  compile: (options) => {
    const maxWaiting = options.integer('maxWaiting', { min: 1, max: 100_000 }, 1_000);
    const params = { ...compileBucket(options), maxWaiting };
    const { capacity, token, rate } = params;
    if (options.value('maxWait') === undefined) return params;
    const maxWait = options.duration('maxWait', { min: 0, max: MAX_WINDOW_MS });
    // The last turn waits for everything before it: less than that much, and the turn itself, fit in.
    return { ...params, capacity: Math.min(capacity, maxWait * rate + token) };
  },
  quota,
  // Whoever comes into an almost full queue waits for all but its own turn.
  queue: ({ capacity, token, rate, maxWaiting }) => ({
    longestDelayMs: ceilDiv(Math.max(0, capacity - token), rate),
    maxWaiting,
  }),
  args: ({ capacity, token, rate }) => [capacity, token, rate],
  readings: 1,
  step,
  allowed: ([used], taken, params) => {
    const { remaining, nextMs, resetMs } = usage(used! + taken * params.token, params);
    return { outcome: 'allowed', delayMs: ceilDiv(used!, params.rate), remaining, nextMs, resetMs };
  },
  denied,
  lua,
});
