import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { Rule } from '../src/algorithms/index.js';
import type { Attempt } from '../src/storage/store.js';
import { passes } from '../src/storage/verdicts.js';
import { attempt, cost, type LawOptions, toRule } from './asking.js';
import { type LawStore, openMemory, openValkey, START } from './stores.js';

const later = fc.oneof(
  { weight: 6, arbitrary: fc.nat(300) },
  { weight: 3, arbitrary: fc.nat(30_000) },
  { weight: 1, arbitrary: fc.integer({ min: -100_000, max: 100_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: -(2 ** 36), max: 2 ** 36 }) },
);

const shadow = fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.boolean());
const asked = fc.record({ rule: fc.nat(2), key: fc.nat(1), cost, shadow });

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
 * Law 7: memory equals Valkey. The same trace gives the same decisions, field by field, with costs, looks, shadows,
 * refunds, renewals, resets, changed limits and jumping clocks in it.
 */
export function describeTwins(name: string, options: fc.Arbitrary<LawOptions>): void {
  describe(`${name} obeys the law`, () => {
    let valkey: LawStore;
    beforeAll(async () => {
      valkey = await openValkey();
    });
    afterAll(() => valkey.close());

    const rules = fc.array(options.map(toRule), { minLength: 3, maxLength: 3 });
    const compare = async (written: readonly Rule[], steps: readonly Step[]) => {
      // A new one each time: with many keys it lets go of what has run out before a clock may step back to it.
      const memory = await openMemory();
      expect(await run(valkey, written, steps)).toEqual(await run(memory, written, steps));
      await memory.close();
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
    if (!('consume' in action) || !passes(attempts, answer.verdicts)) continue;
    for (const [index, each] of attempts.entries()) {
      if (each.cost > 0 && answer.verdicts[index]!.outcome === 'allowed')
        taken.push({ ...each, at: answer.at });
    }
  }
  return said;

  /** One key for each place in the request, as two attempts of one call never share a key. */
  function toAttempt(
    {
      rule,
      key,
      cost: amount,
      shadow: inShadow,
    }: { rule: number; key: number; cost: number; shadow: boolean },
    index: number,
  ) {
    const chosen = rules[rule]!;
    const made = attempt(
      chosen,
      `${keys[key]}:${index}:${chosen.id}`,
      amount,
      `lease-${said.length}-${index}`,
    );
    return inShadow ? { ...made, shadow: true } : made;
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
