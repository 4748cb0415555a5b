import type { Verdict } from '../decision/decision.js';
import type { Attempt } from './store.js';

/** What the steps of a call found. */
export interface Found {
  readonly allowed: boolean;
  readonly reading: readonly number[];
}

/** What each attempt is told: where one was denied, nothing was taken by the others. */
export function toVerdicts(attempts: readonly Attempt[], found: readonly Found[]): Verdict[] {
  const passed = found.every(({ allowed }) => allowed);
  return attempts.map((attempt, index) => toVerdict(attempt, found[index]!, passed));
}

/** @param passed whether all attempts of the call are allowed */
export function toVerdict({ rule, cost }: Attempt, { allowed, reading }: Found, passed: boolean): Verdict {
  return allowed ? rule.allowed(reading, passed && cost > 0 ? cost : 0) : rule.denied(reading, cost);
}
