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

export const tokenBucket = defineAlgorithm<TokenBucketOptions, BucketParams, BucketState>({
  id: 'tb',
  compile: compileBucket,
  quota,
  args: ({ capacity, token, rate }) => [capacity, token, rate],
  readings: 1,
  step,
  allowed: ([used], taken, params) => {
    const { remaining, nextMs, resetMs } = usage(used! + taken * params.token, params);
    return { outcome: 'allowed', delayMs: 0, remaining, nextMs, resetMs };
  },
  denied,
  lua,
});
