/**
 * An entry of the field `Server-Timing` (https://www.w3.org/TR/server-timing/): how long a request's limits took to decide.
 *
 * @example
 * decisionTiming(0.8412); // 'ratelimit-decision;dur=0.84'
 */
export function decisionTiming(milliseconds: number): string {
  return `ratelimit-decision;dur=${milliseconds.toFixed(2)}`;
}

/** The same of how long it waited for its turn. */
export function waitTiming(milliseconds: number): string {
  return `ratelimit;dur=${Math.round(milliseconds)}`;
}
