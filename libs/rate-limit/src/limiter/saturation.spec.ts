import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { type Load, SAMPLE_MS, Saturation, Share, ShedSteps } from './saturation.js';

const limits = { utilization: 0.9, delayMs: 50 };
const saturated = { utilization: 0.95, delayMs: 50 };
const calm = { utilization: 0.2, delayMs: 1 };
const between = { utilization: 0.85, delayMs: 45 };

/** How many calm samples the next step down takes. */
function calmUntilDown(steps: ShedSteps): number {
  const before = steps.level;
  for (let count = 1; ; count += 1) if (steps.next(calm) < before) return count;
}

describe('the steps', () => {
  test('go up with each saturated sample, the further the later it is, but not over the middle in one', () => {
    const steps = new ShedSteps(limits);
    const levels = [50, 60, 50, 90, 500].map((delayMs) => steps.next({ utilization: 0.9, delayMs }));
    expect(levels).toEqual([40, 88, 100, 172, 200]);
  });

  test('go down by five with two calm samples in a row, and stay where it is neither', () => {
    const steps = new ShedSteps(limits);
    steps.next(saturated);
    const levels = (loads: readonly Load[]) => loads.map((load) => steps.next(load));
    expect(levels([calm, between, calm, calm, between, between])).toEqual([40, 40, 40, 35, 35, 35]);
    for (let count = 0; count < 7; count += 1) expect(calmUntilDown(steps)).toBe(2);
    expect(levels([calm, calm, calm, calm])).toEqual([0, 0, 0, 0]);
  });

  test('go where it was too far down later each time, and elsewhere as soon as ever', () => {
    const steps = new ShedSteps(limits);
    steps.next(saturated);
    const waits: number[][] = [];
    for (let count = 0; count < 9; count += 1) {
      const since = [calmUntilDown(steps)];
      while (steps.level > 35) since.push(calmUntilDown(steps));
      waits.push(since);
      steps.next(saturated);
    }
    const quick = Array<number>(7).fill(2);
    expect(waits).toEqual([[2], ...[4, 8, 16, 32, 64, 128, 160, 160].map((last) => [...quick, last])]);
    // When it is not too far down any more, sooner each time.
    const rest: number[] = [];
    while (steps.level > 0) rest.push(calmUntilDown(steps));
    expect(rest).toEqual([...quick, 160, 160, 80, 40, 20, 10, 5, 3]);
  });

  test('take being busy, or being late, alone for no saturation', () => {
    const steps = new ShedSteps(limits);
    expect(steps.next({ utilization: 1, delayMs: 5 })).toBe(0);
    expect(steps.next({ utilization: 0.3, delayMs: 500 })).toBe(0);
  });

  test('never go up without a saturated sample, down by more than five, or out of their range', () => {
    const load = fc.record({ utilization: fc.double({ min: 0, max: 1, noNaN: true }), delayMs: fc.nat(200) });
    fc.assert(
      fc.property(fc.array(load), (loads) => {
        const steps = new ShedSteps(limits);
        let before = 0;
        for (const each of loads) {
          const level = steps.next(each);
          const isSaturated = each.utilization >= limits.utilization && each.delayMs >= limits.delayMs;
          if (isSaturated) expect(level).toBeGreaterThan(Math.min(before, 199));
          else expect(before - level).toBeGreaterThanOrEqual(0);
          expect(before - level).toBeLessThanOrEqual(5);
          expect(level).toBe(Math.min(200, Math.max(0, Math.trunc(level))));
          before = level;
        }
      }),
    );
  });
});

test.each([0, 1, 33, 50, 67, 100])('%d per cent are taken of a hundred, as evenly as can be', (percent) => {
  const share = new Share();
  const taken = Array.from({ length: 100 }, () => share.takes(percent));
  expect(taken.filter(Boolean)).toHaveLength(percent);
  for (let end = 1; end <= 100; end += 1) {
    expect(taken.slice(0, end).filter(Boolean)).toHaveLength(Math.floor((end * percent) / 100));
  }
});

test('an event loop that is blocked is saturated, and one that is idle is not', async () => {
  const saturation = new Saturation({ utilization: 0.5, delayMs: 20 });
  const pause = () => new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
  saturation.start();
  saturation.start();
  await pause();
  await pause();
  expect(saturation.level).toBe(0);
  for (let count = 0; count < 8; count += 1) {
    const end = performance.now() + 80;
    while (performance.now() < end);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  expect(saturation.level).toBe(200);
  saturation.stop();
});

test('nobody looks who has not begun, or has stopped', async () => {
  const [waiting, stopped] = Array.from(
    { length: 2 },
    () => new Saturation({ utilization: 0.01, delayMs: 1 }),
  );
  stopped!.stop();
  stopped!.start();
  for (let count = 0; count < 4; count += 1) {
    const end = performance.now() + 80;
    while (performance.now() < end);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  expect([waiting!.level, stopped!.level]).toEqual([0, 0]);
});
