import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { toRule } from '../../../testing/asking.js';
import { describeLaws } from '../../../testing/law.js';
import { MemoryStore } from '../../storage/memory/memory-store.js';

const START = 1_000_000_000_000;

describe('sliding-counter', () => {
  test('the window before counts for as much of it as the last window still covers', () => {
    let now = START + 9_000;
    const store = new MemoryStore(() => now);
    const rule = toRule({ algorithm: 'sliding-counter', limit: 10, window: '10s' });
    const take = (cost: number) => store.consume([{ rule, key: 'client', cost }]).verdicts[0];
    expect(take(8)).toMatchObject({ outcome: 'allowed', remaining: 2 });
    now = START + 12_500; // three quarters of 8
    expect(take(0)).toMatchObject({ remaining: 4 });
    expect(take(4)).toMatchObject({ outcome: 'allowed', remaining: 0 });
    // 8 × left ÷ 10 s + 4 falls below 10 when less than 7.5 s are left: a millisecond later.
    expect(take(1)).toMatchObject({ outcome: 'denied', retryAfterMs: 1 });
    // Two fit in when it falls below 9, with less than 6.25 s left.
    expect(take(2)).toMatchObject({ outcome: 'denied', retryAfterMs: 1_251 });
    // Seven fit in only in the next window, when 4 × left ÷ 10 s falls below 4: a millisecond into it.
    expect(take(7)).toMatchObject({ outcome: 'denied', retryAfterMs: 7_501 });
    expect(take(11)).toMatchObject({ outcome: 'denied', retryAfterMs: undefined });
  });

  test('allows what keeps floor(previous × (1 − elapsed) + current) + cost within the limit, and nothing else', () => {
    const [limit, window] = [7, 1_000];
    const rule = toRule({ algorithm: 'sliding-counter', limit, window });
    fc.assert(
      fc.property(
        fc.nat(limit),
        fc.nat(999),
        fc.nat(999),
        fc.integer({ min: 1, max: 8 }),
        (before, first, second, cost) => {
          let now = START + first;
          const store = new MemoryStore(() => now);
          const take = (amount: number) =>
            store.consume([{ rule, key: 'client', cost: amount }]).verdicts[0]!;
          if (before > 0) take(before);
          now = START + window + second;
          const used = Math.floor((before * (window - second)) / window);
          expect(take(cost).outcome).toBe(used + cost <= limit ? 'allowed' : 'denied');
        },
      ),
    );
  });

  test('numbers that could not be counted exactly are refused, and the ones just below are not', () => {
    const rule = (limit: number) => () => toRule({ algorithm: 'sliding-counter', limit, window: '365d' });
    expect(rule(142_808)).not.toThrow();
    expect(rule(142_809)).toThrow(/The highest limit in this window is 142808/);
  });
});

describeLaws(
  'sliding-counter',
  fc.record({
    algorithm: fc.constant('sliding-counter' as const),
    limit: fc.oneof(fc.nat(12), fc.nat(100_000)),
    window: fc.oneof(
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 60_000 }),
      fc.constant('365d' as const),
    ),
  }),
  { typical: { algorithm: 'sliding-counter', limit: 1_000, window: '1h' }, bytes: 64 },
);
