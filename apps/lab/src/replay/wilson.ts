/**
 * In which range a share lies, 19 times of 20, of which so many of so many were seen (Wilson's score interval, which
 * holds for few and for none as well).
 */
export function wilson(part: number, whole: number): { readonly low: number; readonly high: number } {
  if (whole === 0) return { low: 0, high: 1 };
  const z = 1.96;
  const ratio = part / whole;
  const square = (z * z) / whole;
  const middle = ratio + square / 2;
  const reach = z * Math.sqrt((ratio * (1 - ratio)) / whole + square / (4 * whole));
  // Rounding would make less than nothing of nothing.
  const low = part === 0 ? 0 : (middle - reach) / (1 + square);
  return { low, high: part === whole ? 1 : (middle + reach) / (1 + square) };
}
