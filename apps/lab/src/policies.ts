import type { AlgorithmName, RateLimitPolicy } from 'nestjs-valkey-rate-limit';

/** The algorithms that limit requests in a length of time: the ones that can be asked the same question. */
export type RateAlgorithm = Exclude<AlgorithmName, 'quota' | 'concurrency'>;

/** One policy for each of the five, called by the algorithm's name, with nothing but a limit and a window. */
export function ratePolicies(limit: number, window: '10s' | '1h') {
  const numbers = { limit, window };
  return {
    'fixed-window': { algorithm: 'fixed-window', ...numbers },
    'sliding-log': { algorithm: 'sliding-log', ...numbers },
    'sliding-counter': { algorithm: 'sliding-counter', ...numbers },
    'token-bucket': { algorithm: 'token-bucket', ...numbers },
    'leaky-bucket': { algorithm: 'leaky-bucket', ...numbers },
  } satisfies Record<RateAlgorithm, RateLimitPolicy>;
}

/** One policy for each of the seven: `limit` per hour, or at once. */
export function hourlyPolicies(limit: number): Record<AlgorithmName, RateLimitPolicy> {
  return {
    ...ratePolicies(limit, '1h'),
    quota: { algorithm: 'quota', limit, period: 'hour' },
    concurrency: { algorithm: 'concurrency', limit, lease: '1h' },
  };
}

// Made of the policies, which are complete by their types: an algorithm that the library gains does not compile here
// until the lab has it.
export const RATE_ALGORITHMS = Object.keys(ratePolicies(1, '1h')) as RateAlgorithm[];
export const ALGORITHMS = Object.keys(hourlyPolicies(1)) as AlgorithmName[];
