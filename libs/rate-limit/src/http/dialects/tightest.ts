import type { CountedDecision } from '../header-dialect.js';

/**
 * The decision that the older dialects tell, which can tell only one: a denied one if there is any, and then the one
 * with the least remaining, and then the one that takes longest to come back.
 */
export function tightest(decisions: readonly (CountedDecision | undefined)[]): CountedDecision {
  return decisions
    .filter((decision) => decision !== undefined)
    .reduce((one, other) => (tighter(other, one) ? other : one));
}

function tighter(one: CountedDecision, other: CountedDecision): boolean {
  if (one.outcome !== other.outcome) return one.outcome === 'denied';
  if (one.remaining !== other.remaining) return one.remaining < other.remaining;
  return one.resetMs > other.resetMs;
}
