import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { toRule } from '../../../testing/asking.js';
import { describeLaws } from '../../../testing/law.js';
import { MemoryStore } from '../../storage/memory/memory-store.js';

describe('fixed-window', () => {
  let now = 1_000_000_000_000;
  const store = new MemoryStore(() => now);
  const rule = toRule({ algorithm: 'fixed-window', limit: 3, window: '10s' });
  const take = (cost: number) => store.consume([{ rule, key: 'client', cost }]).verdicts[0];

  test('follows the clock: a full limit at once, the rest of the window nothing, then a full limit again', () => {
    now += 4_000;
    expect(take(1)).toEqual({ outcome: 'allowed', remaining: 2, delayMs: 0, nextMs: 6_000, resetMs: 6_000 });
    now += 1_000;
    expect(take(2)).toEqual({ outcome: 'allowed', remaining: 0, delayMs: 0, nextMs: 5_000, resetMs: 5_000 });
    expect(take(1)).toEqual({
      outcome: 'denied',
      remaining: 0,
      retryAfterMs: 5_000,
      nextMs: 5_000,
      resetMs: 5_000,
    });
    now += 5_000;
    expect(take(0)).toEqual({ outcome: 'allowed', remaining: 3, delayMs: 0, nextMs: 0, resetMs: 0 });
  });

  test('a cost above the limit can never succeed, and a smaller one still can', () => {
    expect(take(4)).toMatchObject({ outcome: 'denied', remaining: 3, retryAfterMs: undefined });
    expect(take(3)).toMatchObject({ outcome: 'allowed', remaining: 0 });
  });

  test('windows of a millisecond and of 365 days, limits of 0 and of 10^15 - 1', () => {
    const one = toRule({ algorithm: 'fixed-window', limit: 999_999_999_999_999, window: 1 });
    expect(one.allowed(one.step(undefined, now, { cost: 1 }).reading, 1)).toMatchObject({
      remaining: 999_999_999_999_998,
      nextMs: 1,
    });
    const year = toRule({ algorithm: 'fixed-window', limit: 0, window: '365d' });
    expect(year.step(undefined, now, { cost: 1 })).toMatchObject({ allowed: false, state: undefined });
  });
});

describeLaws(
  'fixed-window',
  fc.record({
    algorithm: fc.constant('fixed-window' as const),
    limit: fc.oneof(fc.nat(12), fc.nat(1_000_000)),
    window: fc.oneof(
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 60_000 }),
      fc.constant('365d' as const),
    ),
  }),
  { typical: { algorithm: 'fixed-window', limit: 1_000, window: '1h' }, bytes: 64 },
);
