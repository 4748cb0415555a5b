import type { AllowedVerdict, DeniedVerdict } from '../decision/decision.js';
import type { OptionReader } from '../decision/option-reader.js';

/** What is asked of a key. */
export interface Ask {
  /** Above 0 takes, 0 looks, and below 0 gives back what was taken at `at`. */
  readonly cost: number;
  /** When what is given back was taken, in milliseconds since 1970 by the store's clock. */
  readonly at?: number;
  /** Under which id places are held, where an algorithm has places. */
  readonly lease?: string | undefined;
  /** Prolongs the lease instead of taking places; allowed while it is held. */
  readonly renew?: boolean;
}

/** What a step says of what was asked. */
export interface Step<State> {
  readonly allowed: boolean;
  /** What was found before anything was taken: integers from 0, from which the verdict is read. */
  readonly reading: readonly number[];
  /**
   * What to keep from now on, if it is to change: when something is taken or given back, and, the one time that a
   * denial writes, when the state could not have come from these numbers and this clock (the clock stepped back, or the
   * policy became smaller) and would make the promised wait untrue (docs/adr/0002-a-denial-writes-only-to-mend.md).
   * A list of up to four numbers takes little memory; anything else will do.
   */
  readonly state: State | undefined;
  /** For how long the state can matter, from now; 0 when there is none. */
  readonly ttlMs: number;
}

/** What the policy promises, for header fields and descriptions. */
export interface Quota {
  readonly limit: number;
  /** `undefined` where the time has no fixed length, or there is none. */
  readonly windowMs: number | undefined;
  readonly unit: 'requests' | 'concurrent-requests';
  /** The most that a key can have left. Left out: `limit`. */
  readonly capacity?: number;
}

/** How requests wait for their turn. */
export interface Queue {
  /** The longest that one may have to wait. */
  readonly longestDelayMs: number;
  /** How many may wait in one process. */
  readonly maxWaiting: number;
}

/**
 * One way to count. The step is written twice: here and, line by line, in the `.lua` file beside it, which says in its
 * head how the state is written in Valkey. What a client is told is worked out once, here, from what the step found
 * (docs/adr/0001-steps-and-verdicts.md).
 *
 * Steps are pure. They answer alike for a key without state and for one whose state has run out, so that it does not
 * matter when a store forgets.
 */
export interface Algorithm<Options, Params = unknown, State = unknown> {
  /** Two or three letters for the script and for keys. Never to be changed or given to another way to keep state. */
  readonly id: string;
  /** Reads and checks the options of a policy and works out the integers that the step needs. Runs at boot only. */
  compile(options: OptionReader): Params;
  quota(params: Params): Quota;
  /** Of one whose allowed requests wait for their turn. */
  queue?(params: Params): Queue;
  /** Of one whose requests hold places: for how long they are held that are not renewed, in milliseconds. */
  leaseMs?(params: Params): number;
  /** The parameters as the Lua twin reads them from ARGV, in its order. */
  args(params: Params): readonly number[];
  /** Further parameters, behind those, that are not the same for every call. */
  callArgs?(params: Params, ask: Ask, now: number): readonly (number | string)[];
  /** How many integers a reading has. */
  readonly readings: number;
  /** @param now milliseconds since 1970 */
  step(state: State | undefined, now: number, ask: Ask, params: Params): Step<State>;
  /**
   * What the client is told.
   *
   * @param taken what was taken: the cost, or 0 for a look or where another policy of the request denied
   */
  allowed(reading: readonly number[], taken: number, params: Params): AllowedVerdict;
  denied(reading: readonly number[], cost: number, params: Params): DeniedVerdict;
  readonly lua: string;
  /** Only for the types: what a policy with this algorithm may say. */
  readonly options?: Options;
}

/** Hides what only the algorithm itself knows: its parameters and its state. */
export function defineAlgorithm<Options, Params, State>(
  algorithm: Algorithm<Options, Params, State>,
): Algorithm<Options> {
  return algorithm as Algorithm<Options>;
}
