import * as fc from 'fast-check';
import { type AlgorithmOptions, compileRule, type Rule } from '../src/algorithms/index.js';
import { penalize, type PenaltyOptions } from '../src/algorithms/penalty/penalty.js';
import type { Verdict } from '../src/decision/decision.js';
import { OptionReader } from '../src/decision/option-reader.js';
import type { Attempt, Store } from '../src/storage/store.js';
import type { LawStore } from './stores.js';

/** What a request costs in the laws. */
export const cost = fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 12 }));

/** A step of a trace: time goes on, or back, and something is asked for. */
export const step = fc.record({
  later: fc.oneof(fc.nat(500), fc.nat(20_000), fc.integer({ min: -5_000, max: 0 })),
  cost,
});

type Steps = readonly { readonly later: number; readonly cost: number }[];

/** How a test counts. */
export type LawOptions = AlgorithmOptions & { readonly penalty?: PenaltyOptions };

/** A rule from options that a test wrote. */
export function toRule({ penalty, ...options }: LawOptions): Rule {
  const rule = compileRule(new OptionReader('a law', options));
  return penalty === undefined ? rule : penalize(rule, 'a law', penalty);
}

let leases = 0;

/** As long as the limiter's own. */
function nextLease(): string {
  leases += 1;
  return `lease-${String(leases).padStart(6, '0')}`;
}

/** Each attempt has a lease of its own, as the limiter gives it one; only concurrency looks at it. */
export function attempt(rule: Rule, key: string, amount: number, lease = nextLease()): Attempt {
  return { rule, key, cost: amount, lease };
}

export async function take(
  store: Store,
  rule: Rule,
  key: string,
  amount: number,
  lease?: string,
): Promise<Verdict> {
  const { verdicts } = await store.consume([attempt(rule, key, amount, lease)]);
  return verdicts[0]!;
}

export function look(store: Store, rule: Rule, key: string): Promise<Verdict> {
  return take(store, rule, key, 0);
}

/** Gives back what was taken at a time. */
export async function give(store: Store, rule: Rule, key: string, amount: number, at: number, lease: string) {
  if (amount > 0) await store.consume([{ rule, key, cost: -amount, at, lease }]);
}

export async function replay(store: LawStore, rule: Rule, key: string, steps: Steps): Promise<void> {
  for (const { later, cost: amount } of steps) {
    store.now += later;
    await take(store, rule, key, amount);
  }
}

/** A trace, and then something asked for in earnest: what a clock that stepped back has left is mended. */
export async function settle(store: LawStore, rule: Rule, key: string, steps: Steps): Promise<void> {
  await replay(store, rule, key, steps);
  await take(store, rule, key, 1);
}

/** Takes all that is left, then asks for `amount`, which is at least 1, more. */
export async function drain(store: Store, rule: Rule, key: string, amount: number) {
  const { remaining } = await look(store, rule, key);
  if (remaining > 0) await take(store, rule, key, remaining);
  const verdict = await take(store, rule, key, amount);
  if (verdict.outcome !== 'denied') throw new Error(`An empty key was allowed ${amount}.`);
  return verdict;
}
