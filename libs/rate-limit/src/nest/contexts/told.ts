import type { Decision } from '../../decision/decision.js';
import type { SetField } from '../../http/header-dialect.js';
import type { PolicyAttempt } from '../../limiter/attempt.js';

/** What is asked and what was decided of it, policy by policy. */
export interface Told {
  /** What has been told so far with more of it: of a policy that is asked again the latest counts. */
  with(attempts: readonly PolicyAttempt[], decisions: readonly Decision[]): Decided;
  /** The fields that were set, by their names in small letters. */
  readonly fields: Map<string, string>;
}

export interface Decided {
  readonly attempts: readonly PolicyAttempt[];
  readonly decisions: readonly Decision[];
}

/** What one response tells of several calls. */
export function tellTogether(): Told {
  const attempted = new Map<string, PolicyAttempt>();
  const decided = new Map<string, Decision>();
  return {
    fields: new Map(),
    with(attempts, decisions) {
      for (const attempt of attempts) attempted.set(attempt.policy.name, attempt);
      for (const decision of decisions) decided.set(decision.policy, decision);
      return {
        attempts: [...attempted.values()],
        decisions: [...attempted.keys()].flatMap((name) => decided.get(name) ?? []),
      };
    },
  };
}

/** Sets fields whole again for each call: whoever has to wait waits for the longest. */
export function setTogether({ fields }: Told, set: SetField): SetField {
  return (name, value) => {
    // The body is the operation's, and no problem document.
    if (name === 'Content-Type') return;
    const field = name.toLowerCase();
    const present = fields.get(field);
    const isShorter = name === 'Retry-After' && present !== undefined && Number(present) > Number(value);
    if (isShorter) return;
    fields.set(field, value);
    set(name, value);
  };
}
