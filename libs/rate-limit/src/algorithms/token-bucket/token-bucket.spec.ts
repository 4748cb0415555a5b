import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { toRule } from '../../../testing/asking.js';
import { describeLaws } from '../../../testing/law.js';
import { MemoryStore } from '../../storage/memory/memory-store.js';

const START = 1_000_000_000_000;

describe('token-bucket', () => {
  test('a burst at once, then one token each time it has flowed in', () => {
    let now = START;
    const store = new MemoryStore(() => now);
    const rule = toRule({ algorithm: 'token-bucket', limit: 5, window: '10s' });
    const take = (cost: number) => store.consume([{ rule, key: 'client', cost }]).verdicts[0];
    expect(take(5)).toEqual({ outcome: 'allowed', remaining: 0, delayMs: 0, nextMs: 2_000, resetMs: 10_000 });
    now += 500;
    expect(take(1)).toEqual({
      outcome: 'denied',
      remaining: 0,
      retryAfterMs: 1_500,
      nextMs: 1_500,
      resetMs: 9_500,
    });
    expect(take(2)).toMatchObject({ outcome: 'denied', retryAfterMs: 3_500 });
    expect(take(6)).toMatchObject({ outcome: 'denied', retryAfterMs: undefined });
    now += 1_500;
    expect(take(1)).toEqual({ outcome: 'allowed', remaining: 0, delayMs: 0, nextMs: 2_000, resetMs: 10_000 });
  });

  test('burst is the capacity, limit and window are the rate', () => {
    const rule = toRule({ algorithm: 'token-bucket', limit: 600, window: '1m', burst: 50 });
    const { reading, state } = rule.step(undefined, START, { cost: 50 });
    expect(rule.allowed(reading, 50)).toMatchObject({ remaining: 0, nextMs: 100, resetMs: 5_000 });
    expect(rule.step(state, START + 99, { cost: 1 }).allowed).toBe(false);
    expect(rule.step(state, START + 100, { cost: 1 }).allowed).toBe(true);
  });

  test.each([
    [7, '1m'],
    [3, '1s'],
    [999_983, '1h'],
    [9_999_991, '1d'],
  ] as const)('%d per %s drifts by nothing in 300,000 requests', (limit, window) => {
    const rule = toRule({ algorithm: 'token-bucket', limit, window, burst: 10 });
    let state = rule.step(undefined, START, { cost: 10 }).state;
    let [now, taken] = [START, 0];
    // Always as early as it is allowed: the rate that gets through is the rate that was configured.
    while (taken < 300_000) {
      const step = rule.step(state, now, { cost: 1 });
      if (step.allowed) {
        state = step.state;
        taken += 1;
      } else {
        now += (rule.denied(step.reading, 1) as { retryAfterMs: number }).retryAfterMs;
      }
    }
    const windowMs = rule.quota.windowMs!;
    expect(now - START).toBe(Number((BigInt(taken) * BigInt(windowMs) + BigInt(limit) - 1n) / BigInt(limit)));
  });

  test('numbers that could not be counted exactly are refused, and the ones just below are not', () => {
    const rule = (limit: number, burst?: number) => () =>
      toRule({ algorithm: 'token-bucket', limit, window: '1s', ...(burst !== undefined && { burst }) });
    expect(rule(10_000_001)).toThrow(/10000001 tokens in 1000 ms in lowest terms, and the most is 10000000/);
    expect(rule(9_999_999)).not.toThrow();
    const highest = (Number.MAX_SAFE_INTEGER - 1) / 2 / 1_000 - 1;
    expect(rule(1, Math.floor(highest))).not.toThrow();
    expect(rule(1, Math.ceil(highest) + 1)).toThrow(/above 2\^53. The highest burst at this limit is \d+/);
  });
});

describeLaws(
  'token-bucket',
  fc.record(
    {
      algorithm: fc.constant('token-bucket' as const),
      limit: fc.oneof(fc.nat(12), fc.nat(100_000)),
      window: fc.oneof(
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 60_000 }),
        fc.constant('365d' as const),
      ),
      burst: fc.nat(20),
    },
    { requiredKeys: ['algorithm', 'limit', 'window'] },
  ),
  { typical: { algorithm: 'token-bucket', limit: 1_000, window: '1h' }, bytes: 64 },
);
