import type { Decision, StoreName } from '../decision/decision.js';

/** Names of attributes, as OpenTelemetry has them: https://opentelemetry.io/docs/specs/semconv/general/naming/ */
export const POLICY = 'rate_limit.policy';
export const OUTCOME = 'rate_limit.outcome';
export const STORE = 'rate_limit.store';
export const SHADOW = 'rate_limit.shadow';
export const CIRCUIT_STATE = 'rate_limit.circuit.state';
export const LIMIT = 'rate_limit.limit';
export const REMAINING = 'rate_limit.remaining';
export const KEY = 'rate_limit.key';

/** Where it was counted; `undefined` where nobody counted. */
export function storeOf(decision: Decision): StoreName | undefined {
  return decision.outcome === 'allowed' || decision.outcome === 'denied' ? decision.store : undefined;
}

/** What a policy in shadow may say. */
export type Shadow = 'allowed' | 'denied';

/** What a policy in shadow would have said; `undefined` of all others, and where nobody can say. */
export function shadowOf(decision: Decision): Shadow | undefined {
  return decision.outcome === 'allowed' ? decision.shadow?.outcome : undefined;
}
