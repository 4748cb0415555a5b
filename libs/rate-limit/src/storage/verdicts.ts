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
  return attempts.map(({ rule, cost }, index) => {
    const { allowed, reading } = found[index]!;
    return allowed ? rule.allowed(reading, passed ? Math.max(0, cost) : 0) : rule.denied(reading, cost);
  });
}
