import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { type AlgorithmOptions, compileRule, type Rule } from '../src/algorithms/index.js';
import type { Verdict } from '../src/decision/decision.js';
import { OptionReader } from '../src/decision/option-reader.js';
import type { Store } from '../src/storage/store.js';
import { type LawStore, openMemory, openValkey, START } from './stores.js';

/** Law 10: what the state of a client may weigh. */
export interface StateBudget {
  /** A policy as people write it. */
  readonly typical: AlgorithmOptions;
  /** By MEMORY USAGE, after 1,000 requests under a key of 24 characters. */
  readonly bytes: number;
}

/**
 * The laws that every algorithm obeys on every store, as property tests. An algorithm's spec calls this with what its
 * options may be; the numbers of the laws are those of DESIGN §6.
 *
 * @example
 * describeLaws('fixed-window', fc.record({ algorithm: fc.constant('fixed-window'), limit: ..., window: ... }));
 */
export function describeLaws(
  name: string,
  options: fc.Arbitrary<AlgorithmOptions>,
  { typical, bytes }: StateBudget,
): void {
  describe.each([
    ['memory', openMemory, 300],
    ['valkey', openValkey, 60],
  ] as const)(`${name} on %s obeys the law`, (_, open, numRuns) => {
    let store: LawStore;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(() => store.close());

    const check = <Inputs extends [unknown, ...unknown[]]>(
      arbitraries: { [Index in keyof Inputs]: fc.Arbitrary<Inputs[Index]> },
      law: (...inputs: Inputs) => Promise<void>,
    ) => fc.assert(fc.asyncProperty(...arbitraries, law), { numRuns });

    const compiled = options.map(toRule);
    const trace = fc.array(step, { maxLength: 12 });

    test('1: denied takes nothing, from no policy of the request, and writes nothing', () =>
      check([compiled, compiled, trace, trace, cost], async (one, other, ones, others, amount) => {
        const [a, b] = [store.key(), store.key()];
        await replay(store, one, a, ones);
        await replay(store, other, b, others);
        // Once, so that what a clock that stepped back has left is mended.
        await store.consume([attempt(one, a, amount), attempt(other, b, amount)]);
        const state = async () => [await store.raw(a), await store.raw(b)];
        const remaining = async () => [
          (await look(store, one, a)).remaining,
          (await look(store, other, b)).remaining,
        ];
        const [stateBefore, remainingBefore] = [await state(), await remaining()];
        const verdicts = await store.consume([attempt(one, a, amount), attempt(other, b, amount)]);
        if (verdicts.some(({ outcome }) => outcome === 'denied')) {
          expect(await state()).toEqual(stateBefore);
          expect(await remaining()).toEqual(remainingBefore);
          // Those that would have passed are told so, with the numbers of a look.
          for (const [index, { outcome, remaining: told }] of verdicts.entries()) {
            if (outcome === 'allowed') expect(told).toBe(remainingBefore[index]);
          }
        } else {
          expect(await remaining()).toEqual(remainingBefore.map((before) => before - amount));
        }
      }));

    test('2: waiting exactly retryAfterMs is enough, and a millisecond less is not', () =>
      check([compiled, trace, cost], async (rule, steps, amount) => {
        const key = store.key();
        await replay(store, rule, key, steps);
        const verdict = await exhaust(store, rule, key, amount);
        if (verdict.retryAfterMs === undefined) {
          store.now += 100 * 365 * 86_400_000;
          expect((await take(store, rule, key, Math.max(1, amount))).outcome).toBe('denied');
          store.now = START;
          return;
        }
        expect(verdict.retryAfterMs).toBeGreaterThan(0);
        store.now += verdict.retryAfterMs - 1;
        expect((await take(store, rule, key, Math.max(1, amount))).outcome).toBe('denied');
        store.now += 1;
        expect((await take(store, rule, key, Math.max(1, amount))).outcome).toBe('allowed');
      }));

    test('3: cost 0 changes nothing and tells the truth', () =>
      check([compiled, trace], async (rule, steps) => {
        const key = store.key();
        await settle(store, rule, key, steps);
        const raw = await store.raw(key);
        const seen = await look(store, rule, key);
        expect(seen.outcome).toBe('allowed');
        expect(await look(store, rule, key)).toEqual(seen);
        expect(await store.raw(key)).toEqual(raw);

        // nextMs and resetMs, on the clock.
        const full = (await look(store, rule, store.key())).remaining;
        const at = store.now;
        const remainingAfter = async (milliseconds: number) => {
          store.now = at + milliseconds;
          const { remaining } = await look(store, rule, key);
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
        expect((await take(store, rule, key, seen.remaining)).outcome).toBe('allowed');
        expect((await look(store, rule, key)).remaining).toBe(0);
      }));

    test('4: every key expires, also one whose expiry was lost', () =>
      check([compiled, trace, cost], async (rule, steps, amount) => {
        const key = store.key();
        await replay(store, rule, key, steps);
        await store.persist(key);
        const verdict = await take(store, rule, key, amount);
        if (verdict.outcome === 'denied' && verdict.resetMs === 0) return;
        if (amount > 0 && verdict.resetMs > 0)
          expect(await store.ttl(key)).toBeGreaterThanOrEqual(verdict.resetMs);
      }));

    test('5: a clock that steps back never mints, and one that stepped forward heals within one refill', () =>
      check([compiled, trace, fc.nat(10_000_000), cost], async (rule, steps, jump, amount) => {
        const key = store.key();
        await replay(store, rule, key, steps);
        const { remaining } = await look(store, rule, key);
        store.now -= jump;
        expect((await look(store, rule, key)).remaining).toBeLessThanOrEqual(remaining);

        store.now += 2 * jump;
        await exhaust(store, rule, key, amount);
        store.now -= 2 * jump;
        const healing = await take(store, rule, key, Math.max(1, amount));
        const full = (await look(store, rule, store.key())).remaining;
        store.now += healing.resetMs;
        expect((await look(store, rule, key)).remaining).toBe(full);
        const empty = await exhaust(store, rule, store.key(), 1);
        expect(healing.resetMs).toBeLessThanOrEqual(Math.max(empty.resetMs, rule.quota.windowMs));
      }));

    test('6: of any number of attempts at once, exactly as many pass as remain', () =>
      check([compiled, fc.integer({ min: 1, max: 30 })], async (rule, extra) => {
        const key = store.key();
        const { remaining } = await look(store, rule, key);
        const attempts = Math.min(remaining, 50) + extra;
        const verdicts = await Promise.all(Array.from({ length: attempts }, () => take(store, rule, key, 1)));
        const allowed = verdicts.filter(({ outcome }) => outcome === 'allowed').length;
        expect(allowed).toBe(Math.min(remaining, attempts));
      }));

    test('8: changed numbers count at once, and never free beyond what they allow', () =>
      check([compiled, compiled, trace, fc.nat(100_000)], async (before, after, steps, later) => {
        const key = store.key();
        await replay(store, before, key, steps);
        const full = (await look(store, after, store.key())).remaining;
        const { remaining } = await look(store, after, key);
        expect(remaining).toBeLessThanOrEqual(full);
        expect(remaining).toBeGreaterThanOrEqual(0);

        // What was used in this instant counts, whole, under the new numbers.
        const fresh = store.key();
        const taken = Math.min((await look(store, before, fresh)).remaining, 50);
        await take(store, before, fresh, taken);
        expect((await look(store, after, fresh)).remaining).toBe(Math.max(0, full - taken));

        // And the wait that is promised under them holds.
        const verdict = await exhaust(store, after, key, 1);
        if (verdict.resetMs > 0) expect(await store.ttl(key)).toBeGreaterThanOrEqual(verdict.resetMs);
        if (verdict.retryAfterMs === undefined) return;
        store.now += Math.min(later, verdict.retryAfterMs - 1);
        expect((await take(store, after, key, 1)).outcome).toBe('denied');
      }));

    test('what has run out is as if it had never been', () =>
      check([compiled, trace], async (rule, steps) => {
        const key = store.key();
        await settle(store, rule, key, steps);
        store.now += (await look(store, rule, key)).resetMs;
        expect(await look(store, rule, key)).toEqual(await look(store, rule, store.key()));
      }));
  });

  describe(`${name} obeys the law`, () => {
    let memory: LawStore;
    let valkey: LawStore;
    beforeAll(async () => {
      [memory, valkey] = [await openMemory(), await openValkey()];
    });
    afterAll(() => Promise.all([memory.close(), valkey.close()]));

    test(`10: a client weighs at most ${bytes} bytes`, async () => {
      const rule = toRule(typical);
      const key = valkey.key().slice(-24).padStart(24, '0');
      for (let count = 0; count < 1_000; count += 1) await take(valkey, rule, key, 1);
      expect(await valkey.bytes(key)).toBeLessThanOrEqual(bytes);
    });

    test('7: memory equals Valkey, field by field, over changed limits and jumping clocks', () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(options.map(toRule), { minLength: 1, maxLength: 3 }),
          fc.array(twinStep, { minLength: 1, maxLength: 100 }),
          async (rules, steps) => {
            memory.now = valkey.now = START;
            const keys = [memory.key(), memory.key()];
            for (const each of steps) {
              memory.now = valkey.now = Math.max(0, memory.now + each.later);
              const attempts = each.attempts.map(({ rule, key, cost: amount }, index) =>
                // One key for each place in the request: two attempts of one call never share a key.
                attempt(rules[rule % rules.length]!, `${keys[key]}:${index}`, amount),
              );
              expect(await valkey.consume(attempts)).toEqual(await memory.consume(attempts));
            }
          },
        ),
        { numRuns: 60 },
      ));
  });
}

/** A rule from options that a test wrote. */
export function toRule(options: AlgorithmOptions): Rule {
  return compileRule(new OptionReader('a law', options));
}

const cost = fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 12 }));

/** A step of a trace: time goes on, or back, and something is asked for. */
const step = fc.record({
  later: fc.oneof(fc.nat(500), fc.nat(20_000), fc.integer({ min: -5_000, max: 0 })),
  cost,
});

const twinStep = fc.record({
  later: fc.oneof(
    { weight: 6, arbitrary: fc.nat(300) },
    { weight: 3, arbitrary: fc.nat(30_000) },
    { weight: 1, arbitrary: fc.integer({ min: -100_000, max: 100_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: -(2 ** 40), max: 2 ** 40 }) },
  ),
  attempts: fc.array(fc.record({ rule: fc.nat(2), key: fc.nat(1), cost }), { minLength: 1, maxLength: 3 }),
});

function attempt(rule: Rule, key: string, amount: number) {
  return { rule, key, cost: amount };
}

async function take(store: Store, rule: Rule, key: string, amount: number): Promise<Verdict> {
  const [verdict] = await store.consume([attempt(rule, key, amount)]);
  return verdict!;
}

function look(store: Store, rule: Rule, key: string): Promise<Verdict> {
  return take(store, rule, key, 0);
}

async function replay(
  store: LawStore,
  rule: Rule,
  key: string,
  steps: readonly { later: number; cost: number }[],
): Promise<void> {
  for (const { later, cost: amount } of steps) {
    store.now += later;
    await take(store, rule, key, amount);
  }
}

/** A trace, and then something asked for in earnest: what a clock that stepped back has left is mended. */
async function settle(...[store, rule, key, steps]: Parameters<typeof replay>): Promise<void> {
  await replay(store, rule, key, steps);
  await take(store, rule, key, 1);
}

/** Takes all that is left, then asks for `amount`, and at least 1, more. */
async function exhaust(store: LawStore, rule: Rule, key: string, amount: number) {
  const { remaining } = await look(store, rule, key);
  if (remaining > 0) await take(store, rule, key, remaining);
  const verdict = await take(store, rule, key, Math.max(1, amount));
  if (verdict.outcome !== 'denied') throw new Error(`An empty key was allowed ${amount}.`);
  return verdict;
}
