import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { compilePolicy } from '../limiter/policy.js';
import { retryAfterSeconds, wholeSeconds } from './retry-after.js';

const milliseconds = fc.oneof(
  fc.nat(5_000),
  fc.nat(10_000_000_000),
  fc.integer({ min: Number.MAX_SAFE_INTEGER - 5_000, max: Number.MAX_SAFE_INTEGER }),
);

describe('whole seconds', () => {
  test.each([
    [0, 0],
    [1, 1],
    [999, 1],
    [1_000, 1],
    [1_001, 2],
    [59_999, 60],
    [60_000, 60],
    [315_360_000_000, 315_360_000],
  ])('%d ms are %d', (given, seconds) => {
    expect(wholeSeconds(given)).toBe(seconds);
  });

  test('are rounded up, exactly, up to the longest time that is an exact number', () => {
    fc.assert(
      fc.property(milliseconds, (given) => {
        expect(BigInt(wholeSeconds(given))).toBe((BigInt(given) + 999n) / 1_000n);
      }),
    );
  });
});

describe('Retry-After', () => {
  test.each([
    [0, 1],
    [1, 1],
    [999, 1],
    [1_000, 1],
    [1_001, 2],
    [100, 1],
  ])('is never 0: %d ms are %d', (given, seconds) => {
    expect(retryAfterSeconds(given)).toBe(seconds);
  });

  test('is digits only, is long enough, and is no second longer than that', () => {
    fc.assert(
      fc.property(milliseconds, (given) => {
        const seconds = retryAfterSeconds(given);
        expect(String(seconds)).toMatch(/^[1-9]\d*$/);
        expect(BigInt(seconds) * 1_000n >= BigInt(given)).toBe(true);
        expect(seconds === 1 || BigInt(seconds - 1) * 1_000n < BigInt(given)).toBe(true);
      }),
    );
  });

  test('is not earlier than the end of the effective window that the RateLimit field tells', () => {
    const NOW = 1_000_000_000_123;
    fc.assert(
      fc.property(
        fc.constantFrom('fixed-window' as const, 'token-bucket' as const),
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 100_000 }),
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 0, max: 20_000 }),
        fc.integer({ min: 1, max: 60 }),
        (algorithm, limit, window, first, later, second) => {
          const { rule } = compilePolicy('api', 'policy "api"', { algorithm, limit, window }, 'local');
          const { state } = rule.step(undefined, NOW, { cost: Math.min(first, limit) });
          const { allowed, reading } = rule.step(state, NOW + later, { cost: second });
          if (allowed) return;
          const verdict = rule.denied(reading, second);
          if (verdict.outcome !== 'denied' || verdict.retryAfterMs === undefined) return;
          expect(retryAfterSeconds(verdict.retryAfterMs)).toBeGreaterThanOrEqual(
            wholeSeconds(verdict.nextMs),
          );
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
