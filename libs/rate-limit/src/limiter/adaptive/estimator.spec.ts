import { describe, expect, test } from '@jest/globals';
import { Estimator, type WorkResult } from './estimator.js';

describe('an estimator', () => {
  let now = 0;
  const bounds = { floor: 10, ceiling: 100 };

  /** Some work at once, each for so long. */
  function work(estimator: Estimator, count: number, ms: number, result: WorkResult = 'success') {
    const works = Array.from({ length: count }, (_, index) => {
      estimator.allowed(index + 1);
      return estimator.begin(now);
    });
    now += ms;
    for (const each of works) each.end(result, now);
  }

  test('begins at the floor, and measures a second and ten works at least', () => {
    const estimator = new Estimator(bounds);
    expect(estimator.limit).toBe(10);
    for (let count = 0; count < 9; count += 1) work(estimator, 10, 100);
    expect(estimator.limit).toBe(10);
    // The tenth ends the first window; from 10 to 11 takes two.
    for (let count = 0; count < 11; count += 1) work(estimator, 10, 100);
    expect(estimator.limit).toBe(11);
    const slow = new Estimator(bounds);
    for (let count = 0; count < 9; count += 1) work(slow, 1, 5_000);
    expect(slow.limit).toBe(10);
  });

  test('is not told anything by work that was abandoned, or that never was', () => {
    const estimator = new Estimator(bounds);
    for (let count = 0; count < 100; count += 1) work(estimator, 10, 1_000, 'abandoned');
    for (let count = 0; count < 100; count += 1) estimator.begin(now).leave();
    expect(estimator.limit).toBe(10);
  });

  test('is not raised by what fails at once, and lowered by what fails late', () => {
    const estimator = new Estimator(bounds);
    for (let count = 0; count < 30; count += 1) work(estimator, estimator.limit, 1_000);
    const { limit } = estimator;
    expect(limit).toBeGreaterThan(25);
    for (let count = 0; count < 30; count += 1) work(estimator, estimator.limit, 10, 'failure');
    expect(estimator.limit).toBe(limit);
    for (let count = 0; count < 30; count += 1) work(estimator, estimator.limit, 10_000, 'failure');
    expect(estimator.limit).toBe(10);
  });

  test('work ends once', () => {
    const estimator = new Estimator(bounds);
    const works = Array.from({ length: 9 }, () => estimator.begin(now));
    estimator.allowed(10);
    now += 2_000;
    for (let count = 0; count < 20; count += 1) for (const each of works) each.end('success', now);
    for (const each of works) each.leave();
    expect(estimator.limit).toBe(10);
  });

  test('a clock that steps back costs a window and nothing more', () => {
    const estimator = new Estimator(bounds);
    for (let count = 0; count < 8; count += 1) work(estimator, 10, 1_000);
    const { limit } = estimator;
    now -= 3_600_000;
    for (let count = 0; count < 8; count += 1) work(estimator, 10, 1_000);
    expect(estimator.limit).toBeGreaterThan(limit);
  });

  test('that gets no place while others have more begins where they are, and no higher than its ceiling', () => {
    const estimator = new Estimator(bounds);
    for (let count = 0; count < 9; count += 1) estimator.refused(40);
    expect(estimator.limit).toBe(10);
    estimator.allowed(10);
    for (let count = 0; count < 9; count += 1) estimator.refused(40);
    expect(estimator.limit).toBe(10);
    estimator.refused(40);
    expect(estimator.limit).toBe(40);
    for (let count = 0; count < 10; count += 1) estimator.refused(20);
    expect(estimator.limit).toBe(40);
    for (let count = 0; count < 10; count += 1) estimator.refused(400);
    expect(estimator.limit).toBe(100);
  });

  test('that has work under way itself believes its own measurements', () => {
    const estimator = new Estimator(bounds);
    const own = estimator.begin(now);
    for (let count = 0; count < 100; count += 1) estimator.refused(40);
    expect(estimator.limit).toBe(10);
    own.leave();
    for (let count = 0; count < 10; count += 1) estimator.refused(40);
    expect(estimator.limit).toBe(40);
  });
});
