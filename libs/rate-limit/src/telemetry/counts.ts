import type { Attributes, ObservableResult } from '@opentelemetry/api';
import type { Decision, StoreName } from '../decision/decision.js';
import { OUTCOME, POLICY, SHADOW, type Shadow, STORE } from './attributes.js';

/**
 * Counts by policy what is told when somebody collects: a counter of the SDK looks its attributes up each time that it is
 * added to, which takes as long as a decision in memory. How many counts there can be the policies of the application bound.
 */
export class PolicyCounts {
  readonly #counts = new Map<string, number>();

  add(count: number, policy: string): void {
    this.#counts.set(policy, (this.#counts.get(policy) ?? 0) + count);
  }

  readonly tell = (result: ObservableResult): void => {
    for (const [policy, count] of this.#counts) result.observe(count, { [POLICY]: policy });
  };
}

/** How often something was decided. */
interface Count {
  readonly attributes: Attributes;
  count: number;
}

/** Their places in the counts of a policy: no text has to be made for each decision to find its count. */
const OUTCOMES: Readonly<Record<Decision['outcome'], number>> = {
  allowed: 0,
  denied: 1,
  unavailable: 2,
  unlimited: 3,
  unidentified: 4,
  forbidden: 5,
  shed: 6,
};
const STORES: Readonly<Record<StoreName | 'none', number>> = { none: 0, memory: 1, valkey: 2, local: 3 };
const SHADOWS: Readonly<Record<Shadow | 'none', number>> = { none: 0, allowed: 1, denied: 2 };

/** The same by policy, outcome, store, and by what a policy in shadow would have said. */
export class DecisionCounts {
  readonly #policies = new Map<string, (Count | undefined)[]>();

  add(count: number, policy: string, outcome: Decision['outcome'], store?: StoreName, shadow?: Shadow): void {
    let counts = this.#policies.get(policy);
    if (counts === undefined) this.#policies.set(policy, (counts = []));
    const place = OUTCOMES[outcome] * 12 + STORES[store ?? 'none'] * 3 + SHADOWS[shadow ?? 'none'];
    const known = counts[place];
    if (known !== undefined) {
      known.count += count;
      return;
    }
    const attributes = {
      [POLICY]: policy,
      [OUTCOME]: outcome,
      ...(store !== undefined && { [STORE]: store }),
      ...(shadow !== undefined && { [SHADOW]: shadow }),
    };
    counts[place] = { attributes, count };
  }

  readonly tell = (result: ObservableResult): void => {
    for (const counts of this.#policies.values()) {
      for (const each of counts) if (each !== undefined) result.observe(each.count, each.attributes);
    }
  };
}
