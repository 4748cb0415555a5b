import type { Decision, StoreName } from '../decision/decision.js';
import type { Answer, Attempt } from '../storage/store.js';
import type { Policy } from './policy.js';

/** What a store said of attempts, as decisions of the policies that `asked`, in the same order. */
export function toDecisions(
  asked: readonly { readonly policy: Policy<never> }[],
  attempts: readonly Attempt[],
  { at, verdicts }: Answer,
  store: StoreName,
): readonly Decision[] {
  const passed = verdicts.every(({ outcome }) => outcome === 'allowed');
  return verdicts.map((verdict, index): Decision => {
    const { name } = asked[index]!.policy;
    const { rule, cost, lease } = attempts[index]!;
    const { remaining, nextMs, resetMs } = verdict;
    const counted = { policy: name, limit: rule.quota.limit, store, at, remaining, nextMs, resetMs };
    if (verdict.outcome === 'denied') {
      return { outcome: 'denied', ...counted, cost: 0, retryAfterMs: verdict.retryAfterMs };
    }
    const taken = passed ? cost : 0;
    const { delayMs } = verdict;
    if (lease === undefined || taken === 0) return { outcome: 'allowed', ...counted, delayMs, cost: taken };
    return { outcome: 'allowed', ...counted, delayMs, cost: taken, lease };
  });
}
