import { type Attempt, StoreUnavailableError } from '../store.js';
import type { Found } from '../verdicts.js';

/** Reads the script's reply: the readings one after the other, the first of a denied attempt as −1 − reading. */
export function parseReply(reply: unknown, attempts: readonly Attempt[]): Found[] {
  const width = attempts.reduce((sum, { rule }) => sum + rule.readings, 0);
  if (!Array.isArray(reply) || reply.length !== width) {
    throw new StoreUnavailableError(`the script was answered with ${JSON.stringify(reply)}`);
  }
  const integers = reply as number[];
  let at = 0;
  return attempts.map(({ rule }) => {
    const reading = integers.slice(at, at + rule.readings);
    at += rule.readings;
    const [first] = reading;
    if (first! >= 0) return { allowed: true, reading };
    reading[0] = -1 - first!;
    return { allowed: false, reading };
  });
}
