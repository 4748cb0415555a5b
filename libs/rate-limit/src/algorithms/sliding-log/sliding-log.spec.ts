import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { toRule } from '../../../testing/asking.js';
import { describeLaws } from '../../../testing/law.js';
import { MemoryStore } from '../../storage/memory/memory-store.js';

const START = 1_000_000_000_000;

describe('sliding-log', () => {
  test('each unit comes back a window after it was taken, to the millisecond', () => {
    let now = START;
    const store = new MemoryStore(() => now);
    const rule = toRule({ algorithm: 'sliding-log', limit: 10, window: '10s' });
    const take = (cost: number) => store.consume([{ rule, key: 'client', cost }]).verdicts[0];
    for (let second = 0; second < 10; second += 1) {
      now = START + second * 1_000;
      expect(take(1)).toMatchObject({
        outcome: 'allowed',
        remaining: 9 - second,
        nextMs: 10_000 - second * 1_000,
      });
    }
    now = START + 9_500;
    expect(take(1)).toEqual({
      outcome: 'denied',
      remaining: 0,
      retryAfterMs: 500,
      nextMs: 500,
      resetMs: 9_500,
    });
    expect(take(3)).toMatchObject({ outcome: 'denied', retryAfterMs: 2_500 });
    now = START + 10_100;
    expect(take(1)).toMatchObject({ outcome: 'allowed', remaining: 0, resetMs: 10_000 });
  });

  test('in no window, wherever it begins, are there more than the limit', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(3_000), { minLength: 30, maxLength: 100 }),
        fc.integer({ min: 1, max: 8 }),
        (gaps, limit) => {
          const rule = toRule({ algorithm: 'sliding-log', limit, window: '10s' });
          let now = START;
          const store = new MemoryStore(() => now);
          const allowed: number[] = [];
          for (const gap of gaps) {
            now += gap;
            if (store.consume([{ rule, key: 'client', cost: 1 }]).verdicts[0]!.outcome === 'allowed')
              allowed.push(now);
          }
          for (const from of allowed) {
            expect(allowed.filter((at) => at >= from && at < from + 10_000).length).toBeLessThanOrEqual(
              limit,
            );
          }
        },
      ),
    );
  });

  test('a limit above 10,000 is refused, with the algorithm to take', () => {
    const rule = (limit: number) => () => toRule({ algorithm: 'sliding-log', limit, window: '1h' });
    expect(rule(10_000)).not.toThrow();
    expect(rule(10_001)).toThrow(/takes limits up to 10000, not 10001. Take sliding-counter/);
  });
});

const options = fc.record({
  algorithm: fc.constant('sliding-log' as const),
  limit: fc.oneof(fc.nat(12), fc.nat(200)),
  window: fc.oneof(
    fc.integer({ min: 1, max: 20 }),
    fc.integer({ min: 1, max: 60_000 }),
    fc.constant('365d' as const),
  ),
});

describeLaws('sliding-log', options, {
  typical: { algorithm: 'sliding-log', limit: 1_000, window: '1h' },
  bytes: 10_500,
});

describeLaws('sliding-log of five', options, {
  typical: { algorithm: 'sliding-log', limit: 5, window: '1m' },
  bytes: 112,
});
