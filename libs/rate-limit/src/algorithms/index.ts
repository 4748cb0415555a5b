import { RateLimitConfigError, show } from '../decision/config-error.js';
import type { AllowedVerdict, DeniedVerdict } from '../decision/decision.js';
import type { OptionReader } from '../decision/option-reader.js';
import type { Algorithm, Ask, Queue, Quota, Step } from './algorithm.js';
import { concurrency } from './concurrency/concurrency.js';
import { fixedWindow } from './fixed-window/fixed-window.js';
import { leakyBucket } from './leaky-bucket/leaky-bucket.js';
import { quota } from './quota/quota.js';
import { slidingCounter } from './sliding-counter/sliding-counter.js';
import { slidingLog } from './sliding-log/sliding-log.js';
import { tokenBucket } from './token-bucket/token-bucket.js';

/** Every algorithm by name. A new one is a folder and a line here. */
export const algorithms = {
  'fixed-window': fixedWindow,
  'sliding-log': slidingLog,
  'sliding-counter': slidingCounter,
  'token-bucket': tokenBucket,
  'leaky-bucket': leakyBucket,
  quota,
  concurrency,
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
  /** Of one whose allowed requests wait for their turn. */
  readonly queue?: Queue | undefined;
  /** Of one whose requests hold places: for how long they are held that are not renewed, in milliseconds. */
  readonly leaseMs?: number | undefined;
  /** The algorithm's id, which is also how its keys end: another algorithm's state is never taken for its own. */
  readonly id: string;
  /** What the algorithm in the script reads from ARGV. */
  args(ask: Ask, now: () => number): readonly string[];
  readonly readings: number;
  /** Of a rule that blocks whoever goes on asking: what the script reads of it from ARGV. */
  readonly penalty?: readonly string[];
  /** The same without it, for what is no request of a client but settles one. */
  readonly settling?: Rule;
  step(state: unknown, now: number, ask: Ask): Step<unknown>;
  allowed(reading: readonly number[], taken: number): AllowedVerdict;
  denied(reading: readonly number[], cost: number): DeniedVerdict;
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
  const fixed = algorithm.args(params).map(String);
  const { callArgs } = algorithm;
  return {
    algorithm: name as AlgorithmName,
    quota: algorithm.quota(params),
    queue: algorithm.queue?.(params),
    leaseMs: algorithm.leaseMs?.(params),
    id: algorithm.id,
    args:
      callArgs === undefined
        ? () => fixed
        : (ask, now) => [...fixed, ...callArgs(params, ask, now()).map(String)],
    readings: algorithm.readings,
    step: (state, now, ask) => algorithm.step(state, now, ask, params),
    allowed: (reading, taken) => algorithm.allowed(reading, taken, params),
    denied: (reading, cost) => algorithm.denied(reading, cost, params),
  };
}
