import type { AllowedDecision, DeniedDecision } from '../decision/decision.js';

/** What a header dialect has to know of a policy. */
export interface AnnouncedPolicy {
  readonly name: string;
  readonly quota: { readonly limit: number; readonly windowMs: number };
}

/** A decision that has numbers. */
export type CountedDecision = AllowedDecision | DeniedDecision;

export type SetField = (name: string, value: string) => void;

/** One way to write limits into response header fields. Each field is set once, whole. */
export interface HeaderDialect {
  /** What never changes about a policy, written once at boot. */
  describe(policy: AnnouncedPolicy): string;
  /**
   * Sets the fields for a request's decisions, of which there is at least one.
   *
   * @param descriptions what {@link describe} said of each decision's policy
   */
  write(decisions: readonly CountedDecision[], descriptions: readonly string[], set: SetField): void;
}
