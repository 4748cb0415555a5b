import { RateLimitConfigError, show } from '../decision/config-error.js';
import { parseDuration } from '../decision/duration.js';

/** For whoever names a policy that is not there. */
export function unknownPolicy(where: string, name: unknown, known: Iterable<string>): RateLimitConfigError {
  const names = [...known].map((policy) => `"${policy}"`).join(', ');
  const mend = names === '' ? 'No policies are configured.' : `Configured: ${names}.`;
  return new RateLimitConfigError('UNKNOWN_POLICY', where, `there is no policy ${show(name)}. ${mend}`);
}

export function checkedLease(policy: string, lease: unknown): string {
  if (typeof lease === 'string' && lease !== '') return lease;
  throw new RateLimitConfigError(
    'INVALID_LEASE',
    `policy "${policy}"`,
    `lease must be the id that the decision carries, not ${show(lease)}.`,
  );
}

export function checkedKey(policy: string, key: unknown): string {
  if (typeof key === 'string' && key !== '') return key;
  throw new RateLimitConfigError(
    'INVALID_KEY',
    `policy "${policy}"`,
    `key must be a text that is not empty, not ${show(key)}.`,
  );
}

export function checkedCost(policy: string, cost: unknown): number {
  if (Number.isSafeInteger(cost) && (cost as number) >= 0) return cost as number;
  throw new RateLimitConfigError(
    'INVALID_COST',
    `policy "${policy}"`,
    `cost must be a whole number from 0, not ${show(cost)}.`,
  );
}

export function checkedCount(where: string, count: unknown): number {
  if (Number.isSafeInteger(count) && (count as number) >= 1) return count as number;
  throw new RateLimitConfigError(
    'INVALID_COUNT',
    where,
    `count must be a whole number from 1, not ${show(count)}.`,
  );
}

/** When something was taken: `undefined` for now. */
export function checkedAt(policy: string, at: unknown): number | undefined {
  if (at === undefined || (Number.isSafeInteger(at) && (at as number) >= 0)) return at as number | undefined;
  throw new RateLimitConfigError(
    'INVALID_AT',
    `policy "${policy}"`,
    `at must be the time that the decision carries, in whole milliseconds since 1970, not ${show(at)}.`,
  );
}

/** In milliseconds; `Infinity` where it is left out. */
export function checkedMaxWait(policy: string, maxWait: unknown): number {
  if (maxWait === undefined) return Infinity;
  const milliseconds = parseDuration(maxWait);
  if (milliseconds !== undefined) return milliseconds;
  throw new RateLimitConfigError(
    'INVALID_MAX_WAIT',
    `policy "${policy}"`,
    `maxWait must be a duration such as '10s' or a whole number of milliseconds, not ${show(maxWait)}.`,
  );
}
