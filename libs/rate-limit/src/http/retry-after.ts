/**
 * Milliseconds as the whole seconds that go over the wire, rounded up: whoever waits them has waited long enough
 * (RFC 9110 §10.2.3, delay-seconds).
 */
export function wholeSeconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1_000);
}

/** A window in whole seconds, for parameters that carry nothing finer; `undefined` where it has no such length. */
export function windowSeconds(windowMs: number | undefined): number | undefined {
  return windowMs !== undefined && windowMs % 1_000 === 0 ? windowMs / 1_000 : undefined;
}

/** `Retry-After`: at least 1, because clients take 0 for "at once". */
export function retryAfterSeconds(milliseconds: number): number {
  return Math.max(1, wholeSeconds(milliseconds));
}
