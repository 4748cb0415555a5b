import { type Attempt, StoreUnavailableError } from '../store.js';
import type { Found } from '../verdicts.js';

/** What the script answers. */
export interface Reply {
  /** When it decided, in milliseconds since 1970. */
  readonly at: number;
  readonly found: readonly Found[];
}

/** Reads it: the time, then the readings one after the other, the first of a denied attempt as −1 − reading. */
export function parseReply(reply: unknown, attempts: readonly Attempt[]): Reply {
  const width = attempts.reduce((sum, { rule }) => sum + rule.readings, 1);
  if (!Array.isArray(reply) || reply.length !== width) {
    throw new StoreUnavailableError(`the script was answered with ${JSON.stringify(reply)}`);
  }
  const integers = reply as number[];
  let next = 1;
  const found = attempts.map(({ rule }) => {
    const reading = integers.slice(next, next + rule.readings);
    next += rule.readings;
    const [first] = reading;
    if (first! >= 0) return { allowed: true, reading };
    reading[0] = -1 - first!;
    return { allowed: false, reading };
  });
  return { at: integers[0]!, found };
}
