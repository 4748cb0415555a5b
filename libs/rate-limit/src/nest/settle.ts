import { RateLimitConfigError, show } from '../decision/config-error.js';
import type { RateLimitContext } from './context.js';

/** How a call ended that was let pass. */
export interface Outcome {
  /**
   * `success`: of HTTP, a response with a status below 400 was sent whole; elsewhere, the handler came to its end.
   * `failure`: another status, or the handler threw. `abandoned`: the client had gone before.
   */
  readonly result: 'success' | 'failure' | 'abandoned';
  /** The status of an HTTP response that was sent whole. */
  readonly status?: number;
  /** What the handler threw, or what runs around it: pipes and interceptors behind the limiter's. */
  readonly error?: unknown;
}

/**
 * What a request really costs, when it is known how it ended. Until then it is counted with its `cost`.
 *
 * `'on-success-refund'` takes nothing from whoever succeeds, as for passwords; `'on-failure-refund'` takes nothing for what
 * failed. A function gives the real cost: a whole number from 0, by what the handler left on the request, say. What is
 * above `cost` is taken as far as it is there. Whoever hangs up is given nothing back by either word.
 *
 * @example
 * settle: (outcome, { request }) => (outcome.result === 'success' ? request.tokensUsed : 0)
 */
export type Settle =
  | 'on-success-refund'
  | 'on-failure-refund'
  | ((outcome: Outcome, context: RateLimitContext) => number | Promise<number>);

const REFUNDED: Readonly<Record<string, Outcome['result']>> = {
  'on-success-refund': 'success',
  'on-failure-refund': 'failure',
};

/** @throws {RateLimitConfigError} for what is neither a function nor one of the words */
export function readSettle(where: string, written: unknown): Settle | undefined {
  if (written === undefined || typeof written === 'function') return written as Settle | undefined;
  if (typeof written === 'string' && Object.hasOwn(REFUNDED, written)) return written as Settle;
  throw new RateLimitConfigError(
    'INVALID_SETTLE',
    where,
    `settle must be 'on-success-refund', 'on-failure-refund' or a function that gives the real cost, not ${show(written)}.`,
  );
}

/**
 * What a request should have taken.
 *
 * @throws {Error} (or rejects with it) what a function of the application fails with, or for what is no cost
 */
export async function realCost(
  settle: Settle,
  outcome: Outcome,
  reserved: number,
  context: RateLimitContext,
): Promise<number> {
  if (typeof settle === 'string') return outcome.result === REFUNDED[settle] ? 0 : reserved;
  const cost: unknown = await settle(outcome, context);
  if (Number.isSafeInteger(cost) && (cost as number) >= 0) return cost as number;
  throw new TypeError(`settle gave ${show(cost)}, and a cost is a whole number from 0`);
}
