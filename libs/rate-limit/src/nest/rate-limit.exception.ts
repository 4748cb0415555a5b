import { HttpException } from '@nestjs/common';
import type { Decision } from '../decision/decision.js';

/**
 * A request that was refused: 429 for one that a limit denies, 403 for one on a list, 503 for one that a closed policy could not decide. The
 * response is the body, a problem document unless the module's `problem` option makes another.
 */
export class RateLimitException extends HttpException {
  constructor(
    body: object,
    status: number,
    /** What was decided, policy by policy. */
    readonly decisions: readonly Decision[],
  ) {
    super(body, status);
  }

  /** What Nest makes of the name of the class, by taking it apart for each exception. */
  override initMessage(): void {
    this.message = 'Rate Limit Exception';
  }
}

export function toException(
  body: object,
  status: number,
  decisions: readonly Decision[],
): RateLimitException {
  return withoutStack(() => new RateLimitException(body, status, decisions));
}

/**
 * Makes an error without a stack trace, which would say no more than that the guard refused, and costs more than all else
 * that is done for a refused request.
 */
export function withoutStack<Made extends Error>(make: () => Made): Made {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
