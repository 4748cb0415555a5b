import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { type Bounds, type Estimate, firstEstimate, type Measurement, nextEstimate } from './gradient.js';

const bounds = fc
  .tuple(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: 10_000 }))
  .map(([one, other]): Bounds => ({ floor: Math.min(one, other), ceiling: Math.max(one, other) }));
const latency = fc.oneof(
  fc.double({ min: 0, max: 1_000, noNaN: true }),
  fc.integer({ min: 0, max: 86_400_000 }),
);
const measurement = fc.record({ averageMs: latency, inUse: fc.nat(20_000) });
const wide: Bounds = { floor: 1, ceiling: 10_000 };

/** Measured so many times over. */
function measure(from: Estimate, times: number, one: (limit: number) => Measurement, within = wide) {
  let estimate = from;
  for (let count = 0; count < times; count += 1)
    estimate = nextEstimate(estimate, one(Math.floor(estimate.limit)), within);
  return estimate;
}

/** A backend that is given as much as the limit lets through. */
const saturated =
  (capacity: number, workMs = 50) =>
  (limit: number): Measurement => ({ averageMs: workMs * Math.max(1, limit / capacity), inUse: limit });

describe('the limit', () => {
  test('never leaves its bounds, whatever is measured', () => {
    fc.assert(
      fc.property(bounds, fc.array(measurement, { maxLength: 100 }), (within, measurements) => {
        let estimate = firstEstimate(within);
        for (const one of measurements) {
          estimate = nextEstimate(estimate, one, within);
          expect(estimate.limit).toBeGreaterThanOrEqual(within.floor);
          expect(estimate.limit).toBeLessThanOrEqual(within.ceiling);
          expect(estimate.longMs).toBeGreaterThan(0);
        }
      }),
    );
  });

  test('grows to the ceiling while all of it is used and work takes what it always takes', () => {
    fc.assert(
      fc.property(bounds, latency, (within, averageMs) => {
        let estimate = firstEstimate(within);
        for (let count = 0; count < 1_100; count += 1) {
          const before = estimate.limit;
          estimate = nextEstimate(estimate, { averageMs, inUse: Math.floor(before) }, within);
          expect(estimate.limit).toBeGreaterThanOrEqual(before);
        }
        expect(estimate.limit).toBe(within.ceiling);
      }),
      { numRuns: 20 },
    );
  });

  test.each([
    ['twice', 2, 18],
    ['three times', 3, 5],
    ['a hundred times', 100, 5],
  ])('falls when work takes %s as long', (_, times, least) => {
    fc.assert(
      fc.property(
        fc.double({ min: least, max: 10_000, noNaN: true }),
        fc.double({ min: 0.01, max: 60_000, noNaN: true }),
        fc.constant(10),
        (limit, longMs, windows) => {
          const measured = { averageMs: longMs * times, inUse: Math.floor(limit) };
          const next = nextEstimate({ limit, longMs, recentMs: longMs, windows }, measured, wide);
          expect(next.limit).toBeLessThan(limit);
          // Smoothed: never by more than a tenth at once.
          expect(next.limit).toBeGreaterThanOrEqual(limit * 0.9);
        },
      ),
    );
  });

  test('stays where it is while it is not half used', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        latency,
        fc.double({ min: 0.01, max: 60_000, noNaN: true }),
        fc.double({ min: 0, max: 0.499, noNaN: true }),
        (limit, averageMs, longMs, share) => {
          const measured = { averageMs, inUse: Math.floor(limit * share) };
          expect(nextEstimate({ limit, longMs, recentMs: longMs, windows: 10 }, measured, wide).limit).toBe(
            limit,
          );
        },
      ),
    );
  });
});

describe('under more load than a backend can bear', () => {
  test.each([
    [5, 3.2],
    [20, 2.3],
    [100, 2],
    [1_000, 2],
  ])('of %d it ends between that and %f times as much', (capacity, times) => {
    const { limit } = measure(firstEstimate(wide), 600, saturated(capacity));
    expect(limit).toBeGreaterThanOrEqual(capacity);
    expect(limit).toBeLessThanOrEqual(times * capacity);
  });

  test('it follows the capacity down and up again', () => {
    const before = measure(firstEstimate(wide), 120, saturated(40));
    const halved = measure(before, 40, saturated(20));
    const again = measure(halved, 60, saturated(40));
    expect(halved.limit).toBeLessThan(0.7 * before.limit);
    expect(halved.limit).toBeGreaterThanOrEqual(20);
    expect(again.limit).toBeGreaterThan(0.9 * before.limit);
  });

  test('an hour of it, without a second of rest, does not lead to the ceiling', () => {
    const early = measure(firstEstimate(wide), 60, saturated(20));
    const late = measure(early, 3_600, saturated(20));
    expect(late.limit).toBeLessThan(2.5 * early.limit);
    // Ten minutes of rest are enough to know again how long work takes.
    const rested = measure(late, 600, () => ({ averageMs: 50, inUse: 5 }));
    expect(measure(rested, 60, saturated(20)).limit).toBeLessThan(1.2 * early.limit);
  });
});

test('a backend that has become three times as slow for good, and has no queue, is learned within an hour', () => {
  const before = measure(firstEstimate(wide), 300, () => ({ averageMs: 50, inUse: 100 }));
  const used = (limit: number) => ({ averageMs: 150, inUse: limit });
  const after = measure({ ...before, limit: 100 }, 60, used);
  expect(after.limit).toBeLessThan(10);
  expect(measure(after, 3_600, used).limit).toBeGreaterThan(100);
});

test('what was learned while everything was slow is unlearned within a minute', () => {
  const slow = measure(firstEstimate(wide), 20, () => ({ averageMs: 1_000, inUse: 1 }));
  const { longMs } = measure(slow, 60, () => ({ averageMs: 50, inUse: 1 }));
  expect(longMs).toBeLessThan(110);
});

test.each([1, 2, 3, 4, 5])(
  'latency that is different every time does not keep it from growing (%d)',
  (seed) => {
    let state = seed * 7_919;
    const random = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
    const chance = () => -50 * Math.log(1 - random());
    // Averages of few, each of which takes as long as chance will have it: from a tenth to three times as long as usual.
    const used = (limit: number): Measurement => ({
      averageMs: (chance() + chance() + chance()) / 3,
      inUse: limit,
    });
    const { longMs, limit } = measure(firstEstimate(wide), 3_000, used);
    expect(longMs).toBeGreaterThan(45);
    expect(longMs).toBeLessThan(55);
    expect(limit).toBeGreaterThan(400);
  },
);
