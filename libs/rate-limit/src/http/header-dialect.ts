import type { Quota } from '../algorithms/algorithm.js';
import type { AllowedDecision, DeniedDecision } from '../decision/decision.js';

/** What a header dialect has to know of a policy. */
export interface AnnouncedPolicy {
  readonly name: string;
  readonly quota: Quota;
}

/** A decision that has numbers. */
export type CountedDecision = AllowedDecision | DeniedDecision;

export type SetField = (name: string, value: string) => void;

/** What was said of a policy at boot, for the requests to come. */
export interface Announcement {
  readonly text: string;
  /** Whether time brings back what was taken: not where places are held until they are released. */
  readonly timed: boolean;
}

/** One way to write limits into response header fields. Each field is set once, whole. */
export interface HeaderDialect {
  /** What never changes about a policy, written once at boot. Empty: nothing can be said of it. */
  describe(policy: AnnouncedPolicy): string;
  /**
   * Sets the fields for a request's decisions, of which there is at least one.
   *
   * @param decisions `undefined` for a policy that was not asked, as another one is known to refuse the request
   * @param announced what was said of each of their policies
   */
  write(
    decisions: readonly (CountedDecision | undefined)[],
    announced: readonly Announcement[],
    set: SetField,
  ): void;
}

/** For every request that the policy will decide. */
export function announce(dialect: HeaderDialect, policy: AnnouncedPolicy): Announcement {
  return { text: dialect.describe(policy), timed: policy.quota.unit === 'requests' };
}
