import type { LiveSnapshot, OutcomeCounts } from '../../../../api/src/live-view/live-snapshot.js';

/** What there was in a second, of all policies together and of each. */
export interface Moment {
  readonly at: number;
  readonly allowed: number;
  readonly refused: number;
  readonly refusedBy: Readonly<Record<string, number>>;
}

/** So many seconds are kept, and less where the connection was lost in between. */
export const SECONDS = 120;

/** The seconds so far and one more. */
export function remember(before: readonly Moment[], { at, policies }: LiveSnapshot): readonly Moment[] {
  const refusedBy = Object.fromEntries(
    policies.map(({ policy, lastSecond }) => [policy, refusedOf(lastSecond)]),
  );
  const moment: Moment = {
    at,
    allowed: sum(policies.map(({ lastSecond }) => lastSecond.allowed + lastSecond.unlimited)),
    refused: sum(Object.values(refusedBy)),
    refusedBy,
  };
  return [...before, moment].filter((each) => at - each.at < SECONDS * 1_000);
}

/** How many did not pass, for whatever reason. What a policy in shadow would have refused has passed. */
export function refusedOf(counts: OutcomeCounts): number {
  return counts.denied + counts.shed + counts.forbidden + counts.unidentified + counts.unavailable;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
