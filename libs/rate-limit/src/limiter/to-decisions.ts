import type {
  AllowedDecision,
  Decision,
  DeniedDecision,
  ShedDecision,
  StoreName,
} from '../decision/decision.js';
import type { Answer, Attempt } from '../storage/store.js';
import { passes } from '../storage/verdicts.js';
import type { Policy } from './policy.js';

/** An attempt, and what else its decision tells. */
interface Asked extends Attempt {
  readonly policy: Policy<never>;
  readonly plan?: string | undefined;
  readonly timeZone?: string | undefined;
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** The plan that a decision tells: only of a policy that goes by plan. */
export function planOf({ policy, plan }: Pick<Asked, 'policy' | 'plan'>): string | undefined {
  return policy.plans.length === 0 ? undefined : plan;
}

/** What a store said of attempts, as decisions of their policies, in the same order. */
export function toDecisions(
  attempts: readonly Asked[],
  { at, verdicts }: Answer,
  store: StoreName,
): readonly Decision[] {
  const passed = passes(attempts, verdicts);
  return verdicts.map((verdict, index): Decision => {
    const attempt = attempts[index]!;
    const { policy, timeZone } = attempt;
    const plan = planOf(attempt);
    // Written out, as this is done for every decision, and copying objects into others costs more than making it.
    const decision = toDecision(attempt, store, at, verdict);
    if (decision.outcome === 'shed') return decision;
    if (plan !== undefined) decision.plan = plan;
    if (timeZone !== undefined && policy.zoned) decision.timeZone = timeZone;
    if (decision.outcome === 'denied') return decision;
    // One in shadow looks like one that holds places: to release or renew what is not held is harmless.
    if (decision.shadow?.outcome === 'denied') {
      if (attempt.lease !== undefined) decision.lease = attempt.lease;
      return decision;
    }
    if (!passed || attempt.cost === 0) return decision;
    decision.cost = attempt.cost;
    if (attempt.lease !== undefined) decision.lease = attempt.lease;
    return decision;
  });
}

function toDecision(
  { policy: { name: policy, sheds }, rule, shadow }: Asked,
  store: StoreName,
  at: number,
  verdict: Answer['verdicts'][number],
): Writable<AllowedDecision> | Writable<DeniedDecision> | ShedDecision {
  const { limit } = rule.quota;
  const { remaining, nextMs, resetMs } = verdict;
  if (shadow === true) {
    const told = { policy, limit, cost: 0, store, at, remaining, nextMs, resetMs };
    return { outcome: 'allowed', ...told, delayMs: 0, shadow: verdict };
  }
  const { outcome } = verdict;
  if (outcome === 'denied' && sheds) return { outcome: 'shed', policy, cost: 0, reason: 'fleet' };
  if (outcome === 'denied') {
    const { retryAfterMs, penaltyMs } = verdict;
    const denied = { outcome, policy, limit, cost: 0, store, at, remaining, nextMs, resetMs, retryAfterMs };
    return penaltyMs === undefined ? denied : { ...denied, penaltyMs };
  }
  const { delayMs } = verdict;
  return { outcome, policy, limit, cost: 0, store, at, remaining, nextMs, resetMs, delayMs };
}
