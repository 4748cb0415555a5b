import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { Rule } from '../src/algorithms/index.js';
import { SLICED } from '../src/limiter/policy.js';
import {
  attempt,
  cost,
  drain,
  give,
  type LawOptions,
  look,
  replay,
  settle,
  step,
  take,
  toRule,
} from './asking.js';
import {
  type LawStore,
  openBatched,
  openDenyCached,
  openMemory,
  openSliced,
  openValkey,
  START,
} from './stores.js';
import { describeTwins } from './twins.js';

/** Law 10: what the state of a client may weigh. */
export interface StateBudget {
  /** A policy as people write it. */
  readonly typical: LawOptions;
  /** By MEMORY USAGE, after 1,000 requests under a key of 24 characters. */
  readonly bytes: number;
}

/**
 * The laws that every algorithm obeys on every store, as property tests. An algorithm's spec calls this with what its
 * options may be; the numbers of the laws are those of DESIGN §6.
 *
 * @example
 * describeLaws('fixed-window', fc.record({ algorithm: fc.constant('fixed-window'), limit: …, window: … }), …);
 */
export function describeLaws(
  name: string,
  options: fc.Arbitrary<LawOptions>,
  { typical, bytes }: StateBudget,
): void {
  describe.each([
    ['memory', openMemory, 300],
    ['valkey', openValkey, 60],
    ['valkey, in batches', openBatched, 20],
    ['valkey behind a deny cache', openDenyCached, 20],
    // The others refuse slices at boot. Law 7 is about the two stores, and slices count in one of them.
    ...(SLICED.includes(typical.algorithm) && typical.penalty === undefined
      ? ([['valkey in slices', openSliced, 20]] as const)
      : []),
  ] as const)(`${name} on %s obeys the law`, (_, open, numRuns) => {
    let store: LawStore;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(() => store.close());

    const check = <Inputs extends [unknown, ...unknown[]]>(
      arbitraries: { [Index in keyof Inputs]: fc.Arbitrary<Inputs[Index]> },
      law: (...inputs: Inputs) => Promise<void>,
    ) => {
      const property = fc.asyncProperty(...arbitraries, law).beforeEach(() => {
        store.now = START;
      });
      return fc.assert(property, { numRuns });
    };

    const rules = options.map(toRule);
    const trace = fc.array(step, { maxLength: 12 });
    const remainingOf = async (rule: Rule, key: string) => (await look(store, rule, key)).remaining;
    const fullOf = (rule: Rule) => remainingOf(rule, store.key());

    test('1: denied takes nothing, from no policy of the request, and writes nothing', () =>
      check([rules, rules, trace, trace, cost], async (one, other, ones, others, amount) => {
        const [a, b] = [store.key(), store.key()];
        await replay(store, one, a, ones);
        await replay(store, other, b, others);
        const both = async () => {
          const { verdicts } = await store.consume([attempt(one, a, amount), attempt(other, b, amount)]);
          return verdicts;
        };
        // Once, so that what a clock that stepped back has left is mended.
        await both();
        const state = async () => [await store.raw(a), await store.raw(b)];
        const remaining = async () => [await remainingOf(one, a), await remainingOf(other, b)];
        const [stateBefore, remainingBefore] = [await state(), await remaining()];
        const verdicts = await both();
        if (verdicts.every(({ outcome }) => outcome === 'allowed')) {
          expect(await remaining()).toEqual(remainingBefore.map((before) => before - amount));
          return;
        }
        expect(await state()).toEqual(stateBefore);
        expect(await remaining()).toEqual(remainingBefore);
        // Those that would have passed are told so, with the numbers of a look.
        for (const [index, { outcome, remaining: told }] of verdicts.entries()) {
          if (outcome === 'allowed') expect(told).toBe(remainingBefore[index]);
        }
      }));

    test('1: in shadow it denies nobody, and takes nothing where it, or one that counts, is denied', () =>
      check([rules, rules, trace, trace, cost], async (one, other, ones, others, amount) => {
        const [counted, shadow] = [store.key(), store.key()];
        await settle(store, one, counted, ones);
        await settle(store, other, shadow, others);
        const remaining = async () => [await remainingOf(one, counted), await remainingOf(other, shadow)];
        const before = (await remaining()) as [number, number];
        const { verdicts } = await store.consume([
          { ...attempt(other, shadow, amount), shadow: true },
          attempt(one, counted, amount),
        ]);
        const fits = before.map((left) => amount <= left) as [boolean, boolean];
        const allowed = verdicts.map(({ outcome }) => outcome === 'allowed');
        // Of a request that is known to be denied, a deny cache does not ask what else would have been.
        expect(allowed).toEqual([fits[0] ? fits[1] : allowed[0], fits[0]]);
        expect(await remaining()).toEqual([
          before[0] - (fits[0] ? amount : 0),
          before[1] - (fits[0] && fits[1] ? amount : 0),
        ]);
      }));

    test('2: waiting exactly retryAfterMs is enough, and a millisecond less is not', () =>
      check([rules, trace, cost], async (rule, steps, amount) => {
        const key = store.key();
        await replay(store, rule, key, steps);
        const asked = Math.max(1, amount);
        const { retryAfterMs } = await drain(store, rule, key, asked);
        if (retryAfterMs === undefined) {
          expect(asked).toBeGreaterThan(await fullOf(rule));
          store.now += 100 * 365 * 86_400_000;
          expect((await take(store, rule, key, asked)).outcome).toBe('denied');
          return;
        }
        expect(retryAfterMs).toBeGreaterThan(0);
        store.now += retryAfterMs - 1;
        expect((await take(store, rule, key, asked)).outcome).toBe('denied');
        store.now += 1;
        expect((await take(store, rule, key, asked)).outcome).toBe('allowed');
      }));

    test('3: cost 0 changes nothing and tells the truth', () =>
      check([rules, trace], async (rule, steps) => {
        const key = store.key();
        await settle(store, rule, key, steps);
        const raw = await store.raw(key);
        const seen = await look(store, rule, key);
        expect(seen.outcome).toBe('allowed');
        expect(await look(store, rule, key)).toEqual(seen);
        expect(await store.raw(key)).toEqual(raw);

        // nextMs and resetMs, on the clock.
        const full = await fullOf(rule);
        const at = store.now;
        const remainingAfter = async (milliseconds: number) => {
          store.now = at + milliseconds;
          const remaining = await remainingOf(rule, key);
          store.now = at;
          return remaining;
        };
        expect(seen.nextMs === 0).toBe(seen.resetMs === 0);
        if (seen.nextMs > 0) {
          expect(await remainingAfter(seen.nextMs - 1)).toBe(seen.remaining);
          expect(await remainingAfter(seen.nextMs)).toBeGreaterThan(seen.remaining);
          expect(await remainingAfter(seen.resetMs)).toBe(full);
          expect(await remainingAfter(seen.resetMs - 1)).toBeLessThan(full);
        } else {
          expect(seen.remaining).toBe(full);
        }

        // remaining, to the last one.
        expect((await take(store, rule, key, seen.remaining + 1)).outcome).toBe('denied');
        const last = await take(store, rule, key, seen.remaining);
        expect(last).toMatchObject({ outcome: 'allowed', remaining: 0 });
        // What the taker is told is what a look tells.
        const { remaining, nextMs, resetMs } = await look(store, rule, key);
        expect(last).toMatchObject({ remaining, nextMs, resetMs });
      }));

    test('4: every key expires, also one whose expiry was lost', () =>
      check([rules, trace, cost], async (rule, steps, amount) => {
        const key = store.key();
        await replay(store, rule, key, steps);
        await store.persist(key);
        const { resetMs } = await take(store, rule, key, Math.max(1, amount));
        if (resetMs > 0) expect(await store.ttl(key)).toBeGreaterThanOrEqual(resetMs);
      }));

    test('5: a clock that steps back never mints, and one that stepped forward heals within one refill', () =>
      check([rules, trace, fc.nat(10_000_000), cost], async (rule, steps, jump, amount) => {
        const key = store.key();
        await replay(store, rule, key, steps);
        const remaining = await remainingOf(rule, key);
        store.now -= jump;
        expect(await remainingOf(rule, key)).toBeLessThanOrEqual(remaining);

        store.now += 2 * jump;
        await drain(store, rule, key, Math.max(1, amount));
        store.now -= 2 * jump;
        const healing = await take(store, rule, key, Math.max(1, amount));
        const refill = await drain(store, rule, store.key(), 1);
        // A capacity that is no whole number of tokens can miss a part of one more than can be taken.
        const { limit, windowMs = 0 } = rule.quota;
        expect(healing.resetMs).toBeLessThanOrEqual(
          refill.resetMs + Math.ceil(windowMs / Math.max(1, limit)),
        );
        store.now += healing.resetMs;
        expect(await remainingOf(rule, key)).toBe(await fullOf(rule));
      }));

    test('6: of any number of attempts at once, exactly as many pass as remain', () =>
      check([rules, fc.integer({ min: 1, max: 30 })], async (rule, extra) => {
        const key = store.key();
        const remaining = await remainingOf(rule, key);
        const attempts = Math.min(remaining, 50) + extra;
        const verdicts = await Promise.all(Array.from({ length: attempts }, () => take(store, rule, key, 1)));
        const allowed = verdicts.filter(({ outcome }) => outcome === 'allowed').length;
        expect(allowed).toBe(Math.min(remaining, attempts));
      }));

    test('8: changed numbers count at once, and never free beyond what they allow', () =>
      check([rules, rules, trace, fc.nat(100_000)], async (before, after, steps, later) => {
        const key = store.key();
        await replay(store, before, key, steps);
        const full = await fullOf(after);
        const remaining = await remainingOf(after, key);
        expect(remaining).toBeLessThanOrEqual(full);
        expect(remaining).toBeGreaterThanOrEqual(0);

        // What was used in this instant counts, whole, under the new numbers.
        const fresh = store.key();
        const taken = Math.min(await remainingOf(before, fresh), 50);
        await take(store, before, fresh, taken);
        expect(await remainingOf(after, fresh)).toBe(Math.max(0, full - taken));

        // And the wait that is promised under them holds, for the store as well.
        const { resetMs, retryAfterMs } = await drain(store, after, key, 1);
        if (resetMs > 0) expect(await store.ttl(key)).toBeGreaterThanOrEqual(resetMs);
        if (retryAfterMs === undefined) return;
        store.now += Math.min(later, retryAfterMs - 1);
        expect((await take(store, after, key, 1)).outcome).toBe('denied');
      }));

    test('a refund gives back what was taken and has not come back: never more', () =>
      check([rules, trace, cost, fc.nat(60_000), trace], async (rule, steps, amount, later, others) => {
        const [refunded, untouched] = [store.key(), store.key()];
        for (const key of [refunded, untouched]) {
          store.now = START;
          await settle(store, rule, key, steps);
        }
        const at = store.now;
        const before = await look(store, rule, refunded);
        const lease = 'refunded';
        const { outcome } = await take(store, rule, refunded, amount, lease);
        if (outcome === 'denied') return;

        // At once: as if nothing had been.
        await give(store, rule, refunded, amount, at, lease);
        expect(await look(store, rule, refunded)).toEqual(before);

        // Later, and twice, while others go on: no more than a client has from whom it was never taken.
        await take(store, rule, refunded, amount, lease);
        store.now += later;
        await give(store, rule, refunded, amount, at, lease);
        for (const { later: pause, cost: other } of others) {
          store.now += Math.max(0, pause);
          const remaining = await remainingOf(rule, refunded);
          expect(remaining).toBeLessThanOrEqual(await remainingOf(rule, untouched));
          if (other > remaining) continue;
          await take(store, rule, refunded, other);
          await take(store, rule, untouched, other);
        }
        await give(store, rule, refunded, 1_000_000 * amount, store.now, lease);
        expect(await remainingOf(rule, refunded)).toBeLessThanOrEqual(await fullOf(rule));
      }));

    test('reset gives the full limit back', () =>
      check([rules, trace], async (rule, steps) => {
        const key = store.key();
        await replay(store, rule, key, steps);
        await store.reset(key);
        expect(await look(store, rule, key)).toEqual(await look(store, rule, store.key()));
      }));

    test('what has run out is as if it had never been', () =>
      check([rules, trace], async (rule, steps) => {
        const key = store.key();
        await settle(store, rule, key, steps);
        store.now += (await look(store, rule, key)).resetMs;
        const { remaining, nextMs, resetMs } = await look(store, rule, key);
        expect({ remaining, nextMs, resetMs }).toEqual({
          remaining: await fullOf(rule),
          nextMs: 0,
          resetMs: 0,
        });
      }));
  });

  describe(`${name} obeys the law`, () => {
    let valkey: LawStore;
    beforeAll(async () => {
      valkey = await openValkey();
    });
    afterAll(() => valkey.close());

    test(`10: a client weighs at most ${bytes} bytes`, async () => {
      const rule = toRule(typical);
      const key = valkey.key().slice(-24).padStart(24, '0');
      for (let count = 0; count < 1_000; count += 1) await take(valkey, rule, key, 1);
      // The budget is Valkey's. Redis keeps the same state larger: up to twice, for a list of five.
      expect(await valkey.bytes(key)).toBeLessThanOrEqual((await valkey.isValkey()) ? bytes : 2 * bytes);
    });
  });

  describeTwins(name, options);
}
