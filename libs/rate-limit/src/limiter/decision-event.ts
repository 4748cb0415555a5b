import { Observable } from 'rxjs';
import type { Decision } from '../decision/decision.js';
import type { PolicyAttempt } from './attempt.js';
import { shortSubject } from './store-key.js';

/** A decision, and what else is known of how it came about. */
export type DecisionEvent = Decision & {
  /** How long it took, in milliseconds, together with those that were made with it; 0 of what no limit was asked for. */
  readonly durationMs: number;
  /** It was known to be denied, and the store was not asked. */
  readonly cached?: true;
  /** The tenant, where that was asked for before. */
  readonly tenant?: string;
  /** Who was counted; longer than 64 characters, as a hash. Only with `telemetry: { exposeKeys: true }`. */
  readonly key?: string;
};

/** Decisions that were made together. */
export interface DecisionBatch {
  readonly decisions: readonly Decision[];
  /** What each of them answers; empty where no limit was asked. */
  readonly attempts: readonly PolicyAttempt[];
  readonly durationMs: number;
  readonly cached: boolean;
}

/** One after the other, for whoever listens. */
export function toEvents(
  batches: Observable<DecisionBatch>,
  exposesKeys: boolean,
): Observable<DecisionEvent> {
  return new Observable((listener) =>
    batches.subscribe({
      next: (batch) => {
        for (const [index, decision] of batch.decisions.entries()) {
          listener.next(toEvent(decision, batch.attempts[index], batch, exposesKeys));
        }
      },
      complete: () => listener.complete(),
    }),
  );
}

function toEvent(
  decision: Decision,
  attempt: PolicyAttempt | undefined,
  { durationMs, cached }: DecisionBatch,
  exposesKeys: boolean,
): DecisionEvent {
  const { tenant, subject } = attempt ?? {};
  return {
    ...decision,
    durationMs,
    ...(cached && { cached }),
    ...(tenant !== undefined && { tenant }),
    ...(exposesKeys && subject !== undefined && { key: shortSubject(subject) }),
  };
}
