import type { ExecutionContext } from '@nestjs/common';
import type { Outcome } from './settle.js';

/** Told of the end of calls. */
export interface CallEnds {
  ended(execution: ExecutionContext, outcome: Outcome): void;
}

/** Under which it is provided, as decorators bind whoever tells of them, and know nothing of the limiter. */
export const CALL_ENDS = Symbol('nestjs-valkey-rate-limit:call-ends');
