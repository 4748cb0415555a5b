import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { toRule } from '../../testing/asking.js';
import { Fleet, type Outcome, START } from '../../testing/fleet.js';
import type { Rule } from '../algorithms/index.js';

const SLICING = { share: 0.1, forMs: 100 };

const hourly = toRule({ algorithm: 'fixed-window', limit: 1_000, window: '1h' });
const secondly = toRule({ algorithm: 'fixed-window', limit: 1_000, window: '1s' });
const bucket = toRule({ algorithm: 'token-bucket', limit: 1_000, window: '1s' });

let fleet: Fleet;

const open = (processes = 1, slicing = SLICING) => {
  fleet = new Fleet(processes, slicing);
};
const costs = (outcomes: readonly Outcome[]) =>
  outcomes.reduce((sum, { verdict, cost }) => sum + (verdict.outcome === 'allowed' ? cost : 0), 0);

beforeEach(() => open());
afterEach(() => fleet.close());

describe('slices of a hot key', () => {
  test('a cold key is asked for as without, each time', async () => {
    for (let count = 1; count <= 20; count += 1) {
      await fleet.take(hourly, 'ada');
      expect(fleet.calls).toBe(count);
      expect(fleet.remaining(hourly, 'ada')).toBe(1_000 - count);
      fleet.now += SLICING.forMs;
    }
  });

  test('a hot one is asked for rarely, and is told honest numbers', async () => {
    const remaining: number[] = [];
    for (let count = 0; count < 400; count += 1) {
      const { verdict } = await fleet.take(hourly, 'ada');
      remaining.push(verdict.remaining);
      if (count % 10 === 0) fleet.now += 1;
    }
    // Nobody else was there: exactly what it would have been told.
    expect(remaining).toEqual(Array.from({ length: 400 }, (_, count) => 999 - count));
    expect(fleet.calls).toBeLessThan(60);
  });

  test('those who wait for an answer are asked for together, in their order', async () => {
    const taken = Array.from({ length: 60 }, () => fleet.take(hourly, 'ada'));
    const outcomes = await Promise.all(taken);
    expect(outcomes.map(({ verdict }) => verdict.remaining)).toEqual(
      Array.from({ length: 60 }, (_, count) => 999 - count),
    );
    expect(fleet.calls).toBe(3);
  });

  test('who does not fit into a slice travels alone, and nobody waits for more than one', async () => {
    open(1, { share: 0.01, forMs: 100 });
    const outcomes = await Promise.all(Array.from({ length: 60 }, () => fleet.take(hourly, 'ada')));
    expect(costs(outcomes)).toBe(60);
    expect(fleet.trips).toBeLessThanOrEqual(3);
  });

  test('what is left is given back when its time is over', async () => {
    for (let count = 0; count < 300; count += 1) await fleet.take(hourly, 'ada');
    expect(fleet.remaining(hourly, 'ada')).toBeLessThan(700);
    fleet.now += SLICING.forMs;
    await fleet.sweep();
    expect(fleet.remaining(hourly, 'ada')).toBe(700);
    expect(fleet.processes[0]!.size).toBe(0);
  });

  test('and when the process ends, or the policy has other numbers', async () => {
    for (let count = 0; count < 300; count += 1) await fleet.take(hourly, 'ada');
    const other = toRule({ algorithm: 'fixed-window', limit: 2_000, window: '1h' });
    await fleet.take(other, 'ada');
    await fleet.settle();
    expect(fleet.remaining(hourly, 'ada')).toBe(699);
    for (let count = 0; count < 300; count += 1) await fleet.take(other, 'ada');
    await fleet.processes[0]!.close();
    expect(fleet.remaining(other, 'ada')).toBe(2_000 - 601);
  });

  test('what was taken in a window is not spent in the next', async () => {
    fleet.now += 950;
    for (let count = 0; count < 300; count += 1) await fleet.take(secondly, 'ada');
    fleet.now += 49;
    expect((await fleet.take(secondly, 'ada')).at).toBe(START + 950);
    fleet.now += 1;
    const { at, verdict } = await fleet.take(secondly, 'ada');
    expect([at, verdict.remaining]).toEqual([START + 1_000, 999]);
  });

  test('a denial is the store’s own', async () => {
    for (let count = 0; count < 1_000; count += 1) await fleet.take(hourly, 'ada');
    expect(fleet.remaining(hourly, 'ada')).toBe(0);
    const { verdict } = await fleet.take(hourly, 'ada');
    expect(verdict).toEqual(fleet.ask(hourly, 'ada', 1));
    expect(verdict.outcome).toBe('denied');
  });

  test('a reset forgets what is here', async () => {
    for (let count = 0; count < 300; count += 1) await fleet.take(hourly, 'ada');
    fleet.processes[0]!.forget('ada');
    fleet.store.reset('ada');
    await fleet.settle();
    expect(fleet.remaining(hourly, 'ada')).toBe(1_000);
    expect((await fleet.take(hourly, 'ada')).verdict.remaining).toBe(999);
  });

  test('a bucket is not fuller by what came back to it before its time', async () => {
    for (let count = 0; count < 300; count += 1) await fleet.take(bucket, 'ada');
    const left = 700 - fleet.remaining(bucket, 'ada');
    expect(left).toBeGreaterThan(0);
    fleet.processes[0]!.refunded('ada', 300);
    fleet.store.consume([{ rule: bucket, key: 'ada', cost: -300, at: fleet.now }]);
    fleet.now += left;
    const calls = fleet.calls;
    await fleet.take(bucket, 'ada');
    expect(fleet.calls).toBe(calls + 1);
  });

  test('a bucket that is full again at once is asked for each time, and loses nothing', async () => {
    const wide = toRule({ algorithm: 'token-bucket', limit: 1_000_000, window: '1s' });
    for (let count = 0; count < 200; count += 1) {
      await fleet.take(wide, 'ada');
      fleet.now += 1;
      expect(fleet.remaining(wide, 'ada')).toBe(1_000_000);
    }
    expect(fleet.calls).toBe(200);
  });

  test('without the store, what is here is spent, and then it is said', async () => {
    for (let count = 0; count < 300; count += 1) await fleet.take(hourly, 'ada');
    const left = 700 - fleet.remaining(hourly, 'ada');
    fleet.down = true;
    for (let count = 0; count < left; count += 1) await fleet.take(hourly, 'ada');
    await expect(fleet.take(hourly, 'ada')).rejects.toThrow('down');
    fleet.down = false;
    expect((await fleet.take(hourly, 'ada')).verdict.remaining).toBe(700 - left - 1);
  });

  test('a flood of others takes no place from a hot key', async () => {
    for (let round = 0; round < 400; round += 1) {
      await fleet.take(hourly, 'hot');
      for (let one = 0; one < 10; one += 1) await fleet.take(hourly, `other-${round}-${one}`);
    }
    expect(fleet.processes[0]!.size).toBe(Fleet.MOST_KEYS);
    expect(fleet.calls).toBeLessThan(4_000 + 60);
  });
});

describe('several policies of a request', () => {
  const daily = toRule({ algorithm: 'fixed-window', limit: 350, window: '1d' });

  test('are all or nothing: what was spent here is put back where another one denies', async () => {
    for (let count = 0; count < 350; count += 1) {
      await fleet.takeAll([
        [hourly, 'all'],
        [daily, 'ada', 'plain'],
      ]);
    }
    for (let count = 0; count < 50; count += 1) {
      const [all, own] = await fleet.takeAll([
        [hourly, 'all'],
        [daily, 'ada', 'plain'],
      ]);
      expect([all!.outcome, own!.outcome]).toEqual(['allowed', 'denied']);
      expect(all!.remaining).toBe(650);
    }
    fleet.now += SLICING.forMs;
    await fleet.sweep();
    expect(fleet.remaining(hourly, 'all')).toBe(650);
  });

  test('put back too late, it goes back to the store', async () => {
    for (let count = 0; count < 300; count += 1) await fleet.take(hourly, 'all');
    fleet.ask(daily, 'ada', 350);
    fleet.holds = true;
    const denied = fleet.takeAll([
      [hourly, 'all'],
      [daily, 'ada', 'plain'],
    ]);
    fleet.now += SLICING.forMs;
    const swept = fleet.sweep();
    fleet.release();
    await Promise.all([denied, swept]);
    await fleet.settle();
    expect(fleet.remaining(hourly, 'all')).toBe(700);
  });

  test('that are all here need nobody', async () => {
    for (let count = 0; count < 300; count += 1) {
      await fleet.take(hourly, 'one');
      await fleet.take(bucket, 'other');
    }
    const calls = fleet.calls;
    const both = await fleet.takeAll([
      [hourly, 'one'],
      [bucket, 'other'],
    ]);
    expect(both.map(({ outcome }) => outcome)).toEqual(['allowed', 'allowed']);
    expect(fleet.calls).toBe(calls);
  });
});

describe('of any trace, in several processes', () => {
  const anyCost = fc.oneof({ weight: 5, arbitrary: fc.constant(1) }, fc.nat(9));
  const step = fc.record({
    later: fc.oneof({ weight: 3, arbitrary: fc.nat(3) }, { weight: 2, arbitrary: fc.nat(40) }, fc.nat(400)),
    process: fc.nat(3),
    // Few after many get slices that are larger than they are, and many after few take all that there is.
    costs: fc.oneof(
      fc.array(anyCost, { maxLength: 3 }),
      fc.array(anyCost, { minLength: 20, maxLength: 60, size: 'max' }),
    ),
    store: fc.constantFrom('holds', 'decides', 'answers', 'answers'),
    sweeps: fc.boolean(),
  });
  const traces = fc.array(step, { minLength: 10, maxLength: 60, size: 'max' });
  const slicing = fc.record({ share: fc.constantFrom(0.1, 0.5), forMs: fc.constantFrom(5, 50, 500) });
  const processes = fc.integer({ min: 1, max: 4 });

  const run = async (rule: Rule, trace: typeof traces extends fc.Arbitrary<infer Steps> ? Steps : never) => {
    const taken: Promise<Outcome>[] = [];
    for (const { later, process, costs: asked, store, sweeps } of trace) {
      fleet.now += later;
      if (sweeps) await fleet.sweep();
      await fleet.turn();
      for (const cost of asked) taken.push(fleet.take(rule, 'hot', cost, process));
      fleet.goes(store);
      await fleet.turn();
    }
    fleet.release();
    return Promise.all(taken);
  };
  const check = (
    law: (outcomes: readonly Outcome[], rule: Rule) => void | Promise<void>,
    ruleOf: fc.Arbitrary<Rule>,
  ) =>
    fc.assert(
      fc.asyncProperty(ruleOf, processes, slicing, traces, async (rule, count, sliced, trace) => {
        open(count, sliced);
        await law(await run(rule, trace), rule);
        await fleet.close();
      }),
      { numRuns: 150, endOnFailure: true },
    );

  const windows = fc
    .record({ limit: fc.integer({ min: 1, max: 300 }), window: fc.integer({ min: 50, max: 2_000 }) })
    .map((numbers) => toRule({ algorithm: 'fixed-window', ...numbers }));
  // Small ones that flow full within the time of a slice, so that both could be spent at once.
  const buckets = fc
    .record({
      limit: fc.integer({ min: 20, max: 300 }),
      window: fc.integer({ min: 50, max: 500 }),
      burst: fc.integer({ min: 8, max: 60 }),
    })
    .map((numbers) => toRule({ algorithm: 'token-bucket', ...numbers }));

  test('no window allows more than its limit, and when all is idle exactly what was spent is counted', () =>
    check(async (outcomes, rule) => {
      const { limit, windowMs } = rule.quota;
      const spent = new Map<number, number>();
      for (const { at, spentAt, cost, verdict } of outcomes) {
        if (verdict.outcome === 'denied') continue;
        const window = Math.floor(at / windowMs!);
        expect(Math.floor(spentAt / windowMs!)).toBe(window);
        spent.set(window, (spent.get(window) ?? 0) + cost);
      }
      for (const sum of spent.values()) expect(sum).toBeLessThanOrEqual(limit);
      const last = Math.floor(fleet.now / windowMs!);
      await fleet.close();
      expect(fleet.remaining(rule, 'hot')).toBe(limit - (spent.get(last) ?? 0));
    }, windows));

  test('no stretch of time allows more of a bucket than it holds and what flows in meanwhile', () =>
    check((outcomes, rule) => {
      const { limit, windowMs } = rule.quota;
      const full = rule.allowed([0], 0).remaining * windowMs!;
      let [level, since] = [full, START];
      for (const { spentAt, cost, verdict } of outcomes.toSorted((a, b) => a.spentAt - b.spentAt)) {
        if (verdict.outcome === 'denied') continue;
        level = Math.min(full, level + (spentAt - since) * limit) - cost * windowMs!;
        since = spentAt;
        expect(level).toBeGreaterThanOrEqual(0);
      }
    }, buckets));

  test('nobody is denied what is there, but for what the slices of others may hold', () =>
    check((outcomes, rule) => {
      const { limit, windowMs } = rule.quota;
      const spent = new Map<number, number>();
      for (const { at, cost, verdict } of outcomes) {
        if (verdict.outcome === 'denied') continue;
        const window = Math.floor(at / windowMs!);
        spent.set(window, (spent.get(window) ?? 0) + cost);
      }
      // A slice of each process, and of older ones what was too little for a request.
      const held = fleet.processes.length * (Math.floor(limit * fleet.slicing.share) + 3 * 8);
      for (const { at, cost, verdict } of outcomes) {
        if (verdict.outcome === 'allowed') continue;
        // By the end of the window at the latest, all but that was given to somebody.
        const sum = spent.get(Math.floor(at / windowMs!)) ?? 0;
        expect(sum + cost).toBeGreaterThan(limit - held);
      }
    }, windows));
});
