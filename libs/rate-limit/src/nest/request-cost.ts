/**
 * What a cost function said, as a cost: it must neither break the request nor give anything back.
 *
 * Its value often comes from the client (`request.query.pages`). A number written as text therefore counts, and costs
 * at least 1; fractions are rounded up; what is too large for a number is more than any limit. Everything else, such
 * as a negative number or a list, costs 1.
 */
export function requestCost(value: unknown): number {
  const [cost, least] = typeof value === 'string' ? [numberOf(value), 1] : [value, 0];
  if (typeof cost !== 'number' || !(cost >= 0)) return 1;
  return Math.min(Math.max(Math.ceil(cost), least), Number.MAX_SAFE_INTEGER);
}

function numberOf(text: string): number {
  return text.trim() === '' ? NaN : Number(text);
}
