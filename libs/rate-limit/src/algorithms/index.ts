import { RateLimitConfigError, show } from '../decision/config-error.js';
import type { Verdict } from '../decision/decision.js';
import type { OptionReader } from '../decision/option-reader.js';
import type { Algorithm, Quota, Step } from './algorithm.js';
import { fixedWindow } from './fixed-window/fixed-window.js';
import { tokenBucket } from './token-bucket/token-bucket.js';

/** Every algorithm by name. A new one is a folder and a line here. */
export const algorithms = {
  'fixed-window': fixedWindow,
  'token-bucket': tokenBucket,
} as const;

export type AlgorithmName = keyof typeof algorithms;

type OptionsOf<A> = A extends Algorithm<infer Options> ? Options : never;

/** What a policy says of how it counts: the algorithm's name and that algorithm's options, no other's. */
export type AlgorithmOptions = {
  [Name in AlgorithmName]: { algorithm: Name } & OptionsOf<(typeof algorithms)[Name]>;
}[AlgorithmName];

/** An algorithm with its numbers, ready to decide. Opaque to the stores that run it. */
export interface Rule {
  readonly algorithm: AlgorithmName;
  readonly quota: Quota;
  /** The algorithm's number in the script, and its parameters as it reads them. */
  readonly number: string;
  readonly args: readonly string[];
  readonly readings: number;
  step(state: unknown, now: number, cost: number): Step<unknown>;
  allowed(reading: readonly number[], taken: number): Verdict;
  denied(reading: readonly number[], cost: number): Verdict;
}

/**
 * Makes a rule of the options that concern the algorithm.
 *
 * @throws {RateLimitConfigError} for an unknown algorithm or numbers that it refuses
 */
export function compileRule(options: OptionReader): Rule {
  const name = options.value('algorithm');
  const names = Object.keys(algorithms);
  if (typeof name !== 'string' || !names.includes(name)) {
    throw new RateLimitConfigError(
      'INVALID_ALGORITHM',
      options.where,
      `algorithm must be one of ${names.join(', ')}, not ${show(name)}.`,
    );
  }
  const algorithm: Algorithm<unknown> = algorithms[name as AlgorithmName];
  const params = algorithm.compile(options);
  return {
    algorithm: name as AlgorithmName,
    quota: algorithm.quota(params),
    number: String(names.indexOf(name) + 1),
    args: algorithm.args(params).map(String),
    readings: algorithm.readings,
    step: (state, now, cost) => algorithm.step(state, now, cost, params),
    allowed: (reading, taken) => algorithm.allowed(reading, taken, params),
    denied: (reading, cost) => algorithm.denied(reading, cost, params),
  };
}
