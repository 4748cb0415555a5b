import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { AlgorithmOptions, Rule } from '../src/algorithms/index.js';
import type { Attempt } from '../src/storage/store.js';
import { attempt, cost, toRule } from './asking.js';
import { type LawStore, openMemory, openValkey, START } from './stores.js';

const later = fc.oneof(
  { weight: 6, arbitrary: fc.nat(300) },
  { weight: 3, arbitrary: fc.nat(30_000) },
  { weight: 1, arbitrary: fc.integer({ min: -100_000, max: 100_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: -(2 ** 36), max: 2 ** 36 }) },
);

const asked = fc.record({ rule: fc.nat(2), key: fc.nat(1), cost });

const step = fc.record({
  later,
  action: fc.oneof(
    { weight: 10, arbitrary: fc.record({ consume: fc.array(asked, { minLength: 1, maxLength: 3 }) }) },
    { weight: 2, arbitrary: fc.record({ giveBack: fc.nat(20) }) },
    { weight: 1, arbitrary: fc.record({ renew: fc.nat(20) }) },
    { weight: 1, arbitrary: fc.record({ reset: fc.nat(1) }) },
  ),
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/**
 * Law 7: memory equals Valkey. The same trace gives the same decisions, field by field, with costs, looks, refunds,
 * renewals, resets, changed limits and jumping clocks in it.
 */
export function describeTwins(name: string, options: fc.Arbitrary<AlgorithmOptions>): void {
  describe(`${name} obeys the law`, () => {
    let stores: readonly [LawStore, LawStore];
    beforeAll(async () => {
      stores = [await openMemory(), await openValkey()];
    });
    afterAll(() => Promise.all(stores.map((store) => store.close())));

    const rules = fc.array(options.map(toRule), { minLength: 3, maxLength: 3 });
    const compare = async (written: readonly Rule[], steps: readonly Step[]) => {
      const [memory, valkey] = stores;
      expect(await run(valkey, written, steps)).toEqual(await run(memory, written, steps));
    };

    test('7: memory equals Valkey, field by field, in short traces', () =>
      fc.assert(fc.asyncProperty(rules, fc.array(step, { maxLength: 40, size: 'max' }), compare), {
        numRuns: 60,
      }));

    test('7: memory equals Valkey, field by field, in traces of 1,000 steps', () =>
      fc.assert(
        fc.asyncProperty(rules, fc.array(step, { minLength: 1_000, maxLength: 1_200, size: 'max' }), compare),
        { numRuns: 3 },
      ));
  });
}

/** What a store says to a trace. */
async function run(store: LawStore, rules: readonly Rule[], steps: readonly Step[]): Promise<unknown[]> {
  store.now = START;
  const keys = [store.key(), store.key()];
  const taken: Attempt[] = [];
  const said: unknown[] = [];
  for (const { later: pause, action } of steps) {
    store.now = Math.max(0, store.now + pause);
    if ('reset' in action) {
      await store.reset(`${keys[action.reset]}:0:${rules[0]!.id}`);
      continue;
    }
    const attempts = 'consume' in action ? action.consume.map(toAttempt) : again(action, taken);
    if (attempts.length === 0) continue;
    const answer = await store.consume(attempts);
    said.push(answer);
    const passed = answer.verdicts.every(({ outcome }) => outcome === 'allowed');
    if (!passed || !('consume' in action)) continue;
    for (const each of attempts) if (each.cost > 0) taken.push({ ...each, at: answer.at });
  }
  return said;

  /** One key for each place in the request, as two attempts of one call never share a key. */
  function toAttempt(
    { rule, key, cost: amount }: { rule: number; key: number; cost: number },
    index: number,
  ) {
    const chosen = rules[rule]!;
    return attempt(chosen, `${keys[key]}:${index}:${chosen.id}`, amount, `lease-${said.length}-${index}`);
  }
}

/** Something about what was taken before. */
function again(action: { giveBack: number } | { renew: number }, taken: readonly Attempt[]): Attempt[] {
  const index = 'renew' in action ? action.renew : action.giveBack;
  const attempts = taken.slice(-1 - index).slice(0, 1);
  return attempts.map((each) =>
    'renew' in action ? { ...each, renew: true } : { ...each, cost: -each.cost },
  );
}
