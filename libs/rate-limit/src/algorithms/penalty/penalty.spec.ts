import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { attempt, drain, give, type LawOptions, look, take, toRule } from '../../../testing/asking.js';
import { describeLaws } from '../../../testing/law.js';
import {
  type LawStore,
  openBatched,
  openDenyCached,
  openMemory,
  openValkey,
  START,
} from '../../../testing/stores.js';
import { describeTwins } from '../../../testing/twins.js';
import type { Rule } from '../index.js';
import type { PenaltyOptions } from './penalty.js';

/** Every algorithm that has penalties. */
const counting = fc
  .record({ limit: fc.nat(6), window: fc.integer({ min: 1, max: 30_000 }) })
  .chain(({ limit, window }) =>
    fc.constantFrom<LawOptions>(
      { algorithm: 'fixed-window', limit, window },
      { algorithm: 'sliding-log', limit, window },
      { algorithm: 'sliding-counter', limit, window },
      { algorithm: 'token-bucket', limit, window },
      { algorithm: 'leaky-bucket', limit, window, maxWait: 1_000 },
      { algorithm: 'quota', limit, period: 'hour' },
    ),
  );

const withPenalty = (penalty: fc.Arbitrary<PenaltyOptions>): fc.Arbitrary<LawOptions> =>
  fc
    .record({ options: counting, penalty })
    .map(({ options, penalty: each }) => ({ ...options, penalty: each }));

const penalties = fc
  .record({
    after: fc.integer({ min: 1, max: 4 }),
    block: fc.integer({ min: 1, max: 20_000 }),
    growth: fc.integer({ min: 1, max: 3 }),
    longer: fc.nat(60_000),
  })
  .map(({ longer, ...penalty }) => ({ ...penalty, max: penalty.block + longer }));

describe('what it says', () => {
  const options = { after: 3, block: '15m', growth: 2, max: '45m' } as const;
  const minutes = (count: number) => count * 60_000;

  test('three refusals in a row, and the third blocks; blocks grow, and decay', async () => {
    const store = await openMemory();
    const rule = toRule({ algorithm: 'sliding-log', limit: 1, window: '1m', penalty: options });
    const ask = async () => {
      const verdict = await take(store, rule, 'client', 1);
      return verdict.outcome === 'denied' ? [verdict.retryAfterMs, verdict.penaltyMs] : 'allowed';
    };
    const threeRefusals = async () => {
      expect(await ask()).toBe('allowed');
      expect(await ask()).toEqual([minutes(1), undefined]);
      expect(await ask()).toEqual([minutes(1), undefined]);
      return ask();
    };
    for (const length of [15, 30, 45, 45]) {
      expect(await threeRefusals()).toEqual([minutes(length), minutes(length)]);
      store.now += minutes(length);
    }
    // As long as the last one without another: it was the third of its kind, and the next is as long as that.
    store.now += minutes(45) - 1;
    expect(await threeRefusals()).toEqual([minutes(45), minutes(45)]);
    store.now += minutes(45 + 45 + 30);
    expect(await threeRefusals()).toEqual([minutes(30), minutes(30)]);
    store.now += minutes(30 + 30 + 15);
    expect(await threeRefusals()).toEqual([minutes(15), minutes(15)]);
  });

  test.each([
    [{ block: '1m' }, /^a law penalty: after must be a whole number from 1 to 1000000, and it is missing/],
    [{ after: 0, block: '1m' }, /^a law penalty: after must be .* not 0/],
    [{ after: 3 }, /^a law penalty: block must be a duration .* and it is missing/],
    [{ after: 3, block: 0 }, /^a law penalty: block must be a duration/],
    [
      { after: 3, block: '1m', growth: 1.5 },
      /^a law penalty: growth must be a whole number from 1 to 100, not 1.5/,
    ],
    [{ after: 3, block: '1m', growth: 0 }, /^a law penalty: growth must be/],
    [{ after: 3, block: '1h', max: '1m' }, /^a law penalty: max must be a duration .* from 3600000 to/],
    [{ after: 3, block: '1m', for: '1h' }, /^a law penalty: there is no option "for" here/],
    ['15m', /^a law penalty: options must be an object, not "15m"/],
  ])('%j is refused', (penalty, message) => {
    const rule = () =>
      toRule({ algorithm: 'token-bucket', limit: 1, window: '1m', penalty: penalty as PenaltyOptions });
    expect(rule).toThrow(message);
  });

  test('the longest block is a day unless it is told otherwise, and never shorter than the first', () => {
    const lengths = (block: PenaltyOptions['block']) => {
      const rule = toRule({ algorithm: 'fixed-window', limit: 0, window: 1, penalty: { after: 1, block } });
      let [state, now]: [unknown, number] = [undefined, START];
      return Array.from({ length: 3 }, () => {
        const step = rule.step(state, now, { cost: 1 });
        const { penaltyMs } = rule.denied(step.reading, 1);
        [state, now] = [step.state, now + penaltyMs!];
        return penaltyMs! / 3_600_000;
      });
    };
    expect(lengths('10h')).toEqual([10, 20, 24]);
    expect(lengths('3d')).toEqual([72, 72, 72]);
  });

  test('concurrency has none', () => {
    const rule = () =>
      toRule({ algorithm: 'concurrency', limit: 1, lease: '1m', penalty: { after: 3, block: '1m' } });
    expect(rule).toThrow(/^a law: concurrency has no penalty: its places come free at any moment/);
  });
});

describe.each([
  ['memory', openMemory, 200],
  ['valkey', openValkey, 40],
  ['valkey, in batches', openBatched, 15],
  ['valkey behind a deny cache', openDenyCached, 20],
] as const)('a penalty on %s', (_, open, numRuns) => {
  let store: LawStore;
  beforeAll(async () => {
    store = await open();
  });
  afterAll(() => store.close());

  type Refusals = { readonly rule: Rule; readonly penalty: PenaltyOptions; readonly cost: number };

  /** With a key of which nothing is left, and a cost that is refused. */
  const check = (law: (refusals: Refusals, key: string) => Promise<void>) => {
    const property = fc
      .asyncProperty(counting, penalties, fc.integer({ min: 1, max: 8 }), async (options, penalty, cost) => {
        const [rule, key] = [toRule({ ...options, penalty }), store.key()];
        const { remaining } = await look(store, rule, key);
        if (remaining > 0) await take(store, rule, key, remaining);
        await law({ rule, penalty, cost }, key);
      })
      .beforeEach(() => {
        store.now = START;
      });
    return fc.assert(property, { numRuns });
  };

  const refuse = async (rule: Rule, key: string, cost: number) => {
    const verdict = await take(store, rule, key, cost);
    if (verdict.outcome !== 'denied') throw new Error(`An empty key was allowed ${cost}.`);
    return verdict;
  };

  const block = async ({ rule, penalty, cost }: Refusals, key: string) => {
    for (let count = 1; count < penalty.after; count += 1) {
      expect((await refuse(rule, key, cost)).penaltyMs).toBeUndefined();
    }
    return refuse(rule, key, cost);
  };

  test('the refusal that blocks says for how long, and the wait is the longer of both', () =>
    check(async (refusals, key) => {
      const plain = toRule({ algorithm: 'fixed-window', limit: 0, window: 1 });
      const { rule, cost, penalty } = refusals;
      const unblocked = { ...rule, step: plain.step };
      expect(unblocked.quota).toEqual(rule.quota);
      const verdict = await block(refusals, key);
      expect(verdict.penaltyMs).toBe(penalty.block);
      const { retryAfterMs } = verdict;
      if (retryAfterMs === undefined) {
        expect(cost).toBeGreaterThan((await look(store, rule, store.key())).remaining);
        return;
      }
      expect(retryAfterMs).toBeGreaterThanOrEqual(verdict.penaltyMs!);
      store.now += retryAfterMs - 1;
      // Of two clients, as whoever comes too early is refused once more.
      expect((await look(store, rule, key)).remaining).toBeLessThan(cost);
      store.now += 1;
      expect((await take(store, rule, key, cost)).outcome).toBe('allowed');
    }));

  test('while it lasts nothing is taken and nothing is written', () =>
    check(async (refusals, key) => {
      await block(refusals, key);
      const { rule, penalty, cost } = refusals;
      const records = async () => [await store.raw(key), await store.raw(`${key}:penalty`)];
      const before = await records();
      for (const at of [0, Math.floor((penalty.block as number) / 2), (penalty.block as number) - 1]) {
        store.now = START + at;
        const { penaltyMs } = await refuse(rule, key, cost);
        expect(penaltyMs).toBe((penalty.block as number) - at);
      }
      expect(await records()).toEqual(before);
    }));

  test('a look at a key that is blocked tells the truth', () =>
    check(async (refusals, key) => {
      await block(refusals, key);
      const { rule } = refusals;
      const { outcome, remaining, nextMs, resetMs } = await look(store, rule, key);
      expect({ outcome, remaining }).toEqual({ outcome: 'allowed', remaining: 0 });
      const full = (await look(store, rule, store.key())).remaining;
      if (full === 0) return;
      const remainingAfter = async (milliseconds: number) => {
        store.now = START + milliseconds;
        return (await look(store, rule, key)).remaining;
      };
      expect(await remainingAfter(nextMs - 1)).toBe(0);
      expect(await remainingAfter(nextMs)).toBeGreaterThan(0);
      expect(await remainingAfter(resetMs - 1)).toBeLessThan(full);
      expect(await remainingAfter(resetMs)).toBe(full);
    }));

  test('what is allowed ends the row, and so does a time as long as the first block', () =>
    check(async (refusals, key) => {
      const { rule, penalty, cost } = refusals;
      if (penalty.after === 1) return;
      for (let count = 1; count < penalty.after; count += 1) await refuse(rule, key, cost);
      const { resetMs } = await look(store, rule, key);
      const full = (await look(store, rule, store.key())).remaining;
      if (full === 0) {
        store.now += penalty.block as number;
      } else if (resetMs < (penalty.block as number)) {
        store.now += resetMs;
        await take(store, rule, key, full);
      } else {
        store.now += Math.max(resetMs, penalty.block as number);
        await take(store, rule, key, full);
      }
      for (let count = 1; count < penalty.after; count += 1) {
        expect((await refuse(rule, key, Math.max(cost, 1))).penaltyMs).toBeUndefined();
      }
    }));

  test('one that is refused by another policy of its request is no refusal of this one', () =>
    check(async (refusals, key) => {
      const { rule, penalty } = refusals;
      const nothing = toRule({ algorithm: 'fixed-window', limit: 0, window: '1h' });
      const fresh = store.key();
      if ((await look(store, rule, fresh)).remaining === 0) return;
      for (let count = 0; count < penalty.after + 1; count += 1) {
        const { verdicts } = await store.consume([attempt(rule, fresh, 1), attempt(nothing, store.key(), 1)]);
        expect(verdicts.map(({ outcome }) => outcome)).toEqual(['allowed', 'denied']);
      }
      expect((await take(store, rule, fresh, 1)).outcome).toBe('allowed');
      expect(key).not.toBe(fresh);
    }));

  test('a clock that steps back makes no block longer, and what it promises then is kept', () =>
    check(async (refusals, key) => {
      await block(refusals, key);
      const { rule, penalty, cost } = refusals;
      store.now -= 10_000_000;
      const { penaltyMs } = await refuse(rule, key, cost);
      expect(penaltyMs).toBe(penalty.block);
      store.now += (penalty.block as number) - 1;
      expect((await refuse(rule, key, cost)).penaltyMs).toBe(1);
      store.now += 1;
      const verdict = await take(store, rule, key, cost);
      // After one refusal the next block may be due at once.
      if (verdict.outcome === 'denied' && penalty.after > 1) expect(verdict.penaltyMs).toBeUndefined();
    }));

  test('a refund frees nobody, and a reset does', () =>
    check(async (refusals, key) => {
      const { penaltyMs } = await block(refusals, key);
      const { rule, cost } = refusals;
      await give(store, rule, key, 5, store.now, 'refunded');
      expect((await refuse(rule, key, cost)).penaltyMs).toBe(penaltyMs);
      await store.reset(key);
      expect(await look(store, rule, key)).toEqual(await look(store, rule, store.key()));
    }));

  test('what settles a request counts, also while it is blocked, and neither ends nor lengthens a row', () =>
    check(async ({ rule, penalty, cost }, key) => {
      const settling = rule.settling!;
      for (let count = 1; count < penalty.after; count += 1) {
        expect((await refuse(rule, key, cost)).penaltyMs).toBeUndefined();
        await take(store, settling, key, 1);
        await give(store, settling, key, 1, store.now, 'settled');
        if ((await look(store, rule, key)).remaining > 0) await take(store, settling, key, 1);
      }
      expect((await refuse(rule, key, cost)).penaltyMs).toBe(penalty.block);
      const before = await look(store, settling, key);
      await give(store, settling, key, 1, store.now, 'settled');
      expect((await look(store, settling, key)).remaining).toBeGreaterThanOrEqual(before.remaining);
      expect((await look(store, rule, key)).remaining).toBe(0);
    }));

  test('what is kept of it expires when it can make no difference', () =>
    check(async (refusals, key) => {
      const { rule, penalty } = refusals;
      const { penaltyMs } = await drain(store, rule, key, 1);
      // As long as the block and what it takes to decay, or as the row lasts.
      const least = penaltyMs === undefined ? (penalty.block as number) : 2 * penaltyMs;
      expect(await store.ttl(`${key}:penalty`)).toBeGreaterThanOrEqual(least);
    }));
});

describe('a penalty', () => {
  test('weighs at most 112 bytes in Valkey beside the limit', async () => {
    const valkey = await openValkey();
    const rule = toRule({
      algorithm: 'sliding-log',
      limit: 1,
      window: '1m',
      penalty: { after: 3, block: '15m', growth: 2, max: '24h' },
    });
    const key = valkey.key().slice(-24).padStart(24, '0');
    for (let count = 0; count < 4; count += 1) await take(valkey, rule, key, 1);
    const bytes = await valkey.bytes(`${key}:penalty`);
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(112);
    await valkey.close();
  });
});

// While nobody is blocked, what counts refusals changes nothing else.
const unearned = { after: 1_000_000, block: '1m' } as const;
describeLaws(
  'token-bucket with a penalty',
  fc
    .record({ limit: fc.nat(20), window: fc.integer({ min: 1, max: 60_000 }) })
    .map((numbers) => ({ algorithm: 'token-bucket', ...numbers, penalty: unearned })),
  { typical: { algorithm: 'token-bucket', limit: 100, window: '1m', penalty: unearned }, bytes: 96 },
);
describeLaws(
  'sliding-log with a penalty',
  fc
    .record({ limit: fc.nat(20), window: fc.integer({ min: 1, max: 60_000 }) })
    .map((numbers) => ({ algorithm: 'sliding-log', ...numbers, penalty: unearned })),
  { typical: { algorithm: 'sliding-log', limit: 5, window: '1m', penalty: unearned }, bytes: 136 },
);

describeTwins('penalties', withPenalty(penalties));
