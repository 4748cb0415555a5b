/**
 * A configuration that cannot work, found when the application boots.
 *
 * The message says where (policy or handler), what is wrong with which value, and how to mend it. `code` is stable
 * and meant for tests and tools.
 *
 * @example
 * policy "login": limit must be a whole number from 0 to 999999999999999, not "10" (a string). Convert it first: Number(…).
 */
export class RateLimitConfigError extends Error {
  override readonly name = 'RateLimitConfigError';

  constructor(
    readonly code: string,
    /** The policy, handler or option that is wrong. */
    readonly where: string,
    problem: string,
  ) {
    super(`${where}: ${problem}`);
  }
}

/** How a value looks in an error message: short, with its type where that is the point. */
export function show(value: unknown): string {
  if (typeof value === 'string') return `${JSON.stringify(value.slice(0, 60))} (a string)`;
  if (typeof value === 'bigint') return `${value} (a bigint)`;
  if (typeof value === 'function') return 'a function';
  if (value instanceof Promise) return 'a promise';
  if (Array.isArray(value)) return 'an array';
  if (value instanceof Date) return `a Date (${String(value)})`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
