/** Integer arithmetic that is exact for results and operands below 2^53. */

/** Their sum is to be below 2^53 as well. */
export function ceilDiv(dividend: number, divisor: number): number {
  return floorDiv(dividend + divisor - 1, divisor);
}

/**
 * Of a dividend from 0 and a divisor from 1. No quotient is rounded up to a whole number k that it does not reach: it is
 * below k by 1 / divisor at least, which is more than half of the step between numbers there, as k × divisor is not above
 * 2^53. The remainder operator would do as well, and takes much longer.
 */
export function floorDiv(dividend: number, divisor: number): number {
  return Math.floor(dividend / divisor);
}

/** Greatest common divisor (Euclid), of integers above 0. */
export function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}
