import type { Attributes, TraceAPI } from '@opentelemetry/api';
import type { Decision } from '../decision/decision.js';
import type { DecisionBatch } from '../limiter/decision-event.js';
import { shortSubject } from '../limiter/store-key.js';
import { KEY, LIMIT, OUTCOME, POLICY, REMAINING, SHADOW, shadowOf, STORE, storeOf } from './attributes.js';

/** Adds an event for each decision to the span that is active as it is made: mostly the one of the request. */
export function trace(api: TraceAPI, { decisions, attempts }: DecisionBatch, exposesKeys: boolean): void {
  const span = api.getActiveSpan();
  if (span?.isRecording() !== true) return;
  for (const [index, decision] of decisions.entries()) {
    const subject = exposesKeys ? attempts[index]?.subject : undefined;
    span.addEvent('rate_limit.decision', attributesOf(decision, subject));
  }
}

function attributesOf(decision: Decision, subject: string | undefined): Attributes {
  const [store, shadow] = [storeOf(decision), shadowOf(decision)];
  const isCounted = decision.outcome === 'allowed' || decision.outcome === 'denied';
  return {
    [POLICY]: decision.policy,
    [OUTCOME]: decision.outcome,
    ...(store !== undefined && { [STORE]: store }),
    ...(isCounted && { [LIMIT]: decision.limit, [REMAINING]: decision.remaining }),
    ...(shadow !== undefined && { [SHADOW]: shadow }),
    ...(subject !== undefined && { [KEY]: shortSubject(subject) }),
  };
}
