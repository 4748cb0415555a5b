/** Integer arithmetic that is exact below 2^53, where `Math.ceil(a / b)` is not. */

export function ceilDiv(dividend: number, divisor: number): number {
  return floorDiv(dividend + divisor - 1, divisor);
}

export function floorDiv(dividend: number, divisor: number): number {
  return (dividend - (dividend % divisor)) / divisor;
}

/** Greatest common divisor (Euclid), of integers above 0. */
export function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}
