import type { Verdict } from '../decision/decision.js';
import type { Attempt } from './store.js';

/** What the steps of a call found. */
export interface Found {
  readonly allowed: boolean;
  readonly reading: readonly number[];
}

type Shadowed = Pick<Attempt, 'shadow'>;

/** Whether a request takes what it asks for: none of its attempts is denied, but for those in shadow. */
export function passes(attempts: readonly Shadowed[], verdicts: readonly Verdict[]): boolean {
  return verdicts.every(({ outcome }, index) => outcome === 'allowed' || attempts[index]!.shadow === true);
}

/** The same, of what the steps of a call found. */
export function takes(attempts: readonly Shadowed[], found: readonly Found[]): boolean {
  return found.every(({ allowed }, index) => allowed || attempts[index]!.shadow === true);
}

/** What each attempt is told: where one was denied, nothing was taken by the others. */
export function toVerdicts(attempts: readonly Attempt[], found: readonly Found[]): Verdict[] {
  const passed = takes(attempts, found);
  return attempts.map((attempt, index) => toVerdict(attempt, found[index]!, passed));
}

/** @param passed whether all attempts of the call are allowed */
export function toVerdict({ rule, cost }: Attempt, { allowed, reading }: Found, passed: boolean): Verdict {
  return allowed ? rule.allowed(reading, passed && cost > 0 ? cost : 0) : rule.denied(reading, cost);
}
