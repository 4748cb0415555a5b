import { type AlgorithmName, algorithms, type Rule } from '../../algorithms/index.js';
import { RateLimitConfigError } from '../../decision/config-error.js';
import type { OptionReader } from '../../decision/option-reader.js';
import type { Estimator } from './estimator.js';
import type { Bounds } from './gradient.js';

/** As many places a policy can have. */
const MOST = 10_000;

/** As Netflix's own, but for a smaller beginning. */
const FLOOR = 5;
const CEILING = 200;

/** Whether the limit is to be found out. */
export function isAdaptive(written: object): boolean {
  return (written as { limit?: unknown }).limit === 'adaptive';
}

/**
 * Between which numbers the limit is to be found out.
 *
 * @throws {RateLimitConfigError} for numbers that are none, and where nothing can be measured
 */
export function readBounds(options: OptionReader): Bounds {
  const algorithm = options.value('algorithm');
  if (algorithm !== 'concurrency' && Object.hasOwn(algorithms, algorithm as AlgorithmName)) {
    throw new RateLimitConfigError(
      'INVALID_LIMIT',
      options.where,
      `limit 'adaptive' is for concurrency, where it is measured how long work takes: ${String(algorithm)} needs a number.`,
    );
  }
  const ceilingOr = (fallback: number) => options.integer('ceiling', { min: 1, max: MOST }, fallback);
  const floor = options.integer('floor', { min: 1, max: MOST }, Math.min(FLOOR, ceilingOr(MOST)));
  const ceiling = ceilingOr(Math.max(CEILING, floor));
  if (floor <= ceiling) return { floor, ceiling };
  throw new RateLimitConfigError(
    'FLOOR_ABOVE_CEILING',
    options.where,
    `floor must not be above ceiling, and ${floor} is above ${ceiling}: the limit is found between the two.`,
  );
}

/** Lets an estimator see how many places are in use whenever the rule is asked. */
export function watch(rule: Rule, estimator: Estimator): Rule {
  return {
    ...rule,
    allowed: (reading, taken) => {
      // Whoever only looks, or is refused by another policy, takes no place.
      if (taken > 0) estimator.allowed(reading[0]! + taken);
      return rule.allowed(reading, taken);
    },
    denied: (reading, cost) => {
      estimator.refused(reading[0]!);
      return rule.denied(reading, cost);
    },
  };
}
