import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { SAMPLE_MS, Saturation, ShedSteps } from './saturation.js';

const limits = { utilization: 0.9, delayMs: 50 };
const saturated = { utilization: 0.95, delayMs: 60 };
const calm = { utilization: 0.2, delayMs: 1 };
const between = { utilization: 0.85, delayMs: 45 };

describe('the steps', () => {
  test('go up with each saturated sample, and down after twenty calm ones in a row, one at a time', () => {
    const steps = new ShedSteps(limits);
    expect([saturated, saturated, saturated].map((load) => steps.next(load))).toEqual([1, 2, 2]);
    const levels = (count: number) => Array.from({ length: count }, () => steps.next(calm));
    expect(levels(19)).toEqual(Array(19).fill(2));
    expect(steps.next(between)).toBe(2);
    expect(levels(20)).toEqual([...Array(19).fill(2), 1]);
    expect(levels(20)).toEqual([...Array(19).fill(1), 0]);
    expect(levels(40)).toEqual(Array(40).fill(0));
  });

  test('go down later each time that they went down too early, and as soon as ever after a rest', () => {
    const steps = new ShedSteps(limits);
    const calmUntilDown = () => {
      const before = steps.level;
      for (let count = 1; ; count += 1) if (steps.next(calm) < before) return count;
    };
    steps.next(saturated);
    const waits: number[] = [];
    for (let count = 0; count < 6; count += 1) {
      waits.push(calmUntilDown());
      steps.next(saturated);
    }
    expect(waits).toEqual([20, 40, 80, 160, 320, 320]);
    expect(calmUntilDown()).toBe(320);
    for (let count = 0; count < 320; count += 1) steps.next(calm);
    steps.next(saturated);
    expect(calmUntilDown()).toBe(20);
  });

  test('take being busy, or being late, alone for no saturation', () => {
    const steps = new ShedSteps(limits);
    expect(steps.next({ utilization: 1, delayMs: 5 })).toBe(0);
    expect(steps.next({ utilization: 0.3, delayMs: 500 })).toBe(0);
  });

  test('never skip one, and never refuse anybody without a saturated sample', () => {
    const load = fc.record({ utilization: fc.double({ min: 0, max: 1, noNaN: true }), delayMs: fc.nat(200) });
    fc.assert(
      fc.property(fc.array(load), (loads) => {
        const steps = new ShedSteps(limits);
        let before = 0;
        for (const each of loads) {
          const level = steps.next(each);
          expect(Math.abs(level - before)).toBeLessThanOrEqual(1);
          const isSaturated = each.utilization >= limits.utilization && each.delayMs >= limits.delayMs;
          if (level > before) expect(isSaturated).toBe(true);
          before = level;
        }
      }),
    );
  });
});

test('an event loop that is blocked is saturated, and one that is idle is not', async () => {
  const saturation = new Saturation({ utilization: 0.5, delayMs: 20 });
  saturation.start();
  const pause = () => new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
  await pause();
  await pause();
  expect(saturation.level).toBe(0);
  for (let count = 0; count < 8; count += 1) {
    const end = performance.now() + 80;
    while (performance.now() < end);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  expect(saturation.level).toBe(2);
  saturation.stop();
});
