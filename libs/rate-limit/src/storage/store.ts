import type { Ask } from '../algorithms/algorithm.js';
import type { Rule } from '../algorithms/index.js';
import type { Verdict } from '../decision/decision.js';

/** One rule asked about one key. */
export interface Attempt extends Ask {
  readonly rule: Rule;
  /** The whole key under which the state is kept. Two attempts of one call never share it. */
  readonly key: string;
  /** Denies none of the others of its request, and takes what it takes only if they all pass. */
  readonly shadow?: boolean | undefined;
}

/** What a store decided. */
export interface Answer {
  /** When, in milliseconds since 1970 by the store's clock. */
  readonly at: number;
  /** In the order of the attempts. */
  readonly verdicts: readonly Verdict[];
}

/**
 * Where state lives. A store runs rules and knows no algorithm.
 */
export interface Store {
  readonly name: 'memory' | 'valkey';

  /** Where it counts, for the log: `Valkey at 127.0.0.1:6379`. */
  readonly place: string;

  /** Which part of the store keeps a key, where parts can fail one by one. Left out: the store is one. */
  shardOf?(key: string): string;

  /**
   * Gets ready to answer.
   *
   * @throws {StoreUnavailableError} (rejects) when it cannot now; it may later, without being asked again
   */
  open(): void | Promise<void>;

  /**
   * Decides attempts all or nothing: when one is denied, nothing is taken by any, and the verdicts of the others are
   * those of a look. One in shadow denies nobody else, and takes nothing where it is denied. A cost below 0 gives back what was taken at `at`, and is always allowed. A store in this process
   * answers at once.
   *
   * @throws {StoreUnavailableError} (rejects) when the store did not answer within its deadline
   */
  consume(attempts: readonly Attempt[]): Answer | Promise<Answer>;

  /**
   * Forgets a key: its owner has the full limit again.
   *
   * @throws {StoreUnavailableError} (rejects) when the store did not answer within its deadline
   */
  reset(key: string): void | Promise<void>;

  /** Lets go of what the store opened itself. */
  close(): void | Promise<void>;
}

/** The store did not decide. Nothing is known about the limit: this is never a denial and never an allowance. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';

  constructor(
    message: string,
    options?: ErrorOptions & {
      /** Whether the store answered, but could not do it: it is there, and may decide what is asked next. */
      readonly answered?: boolean;
      /** One of the keys that it was asked about. */
      readonly key?: string;
    },
  ) {
    super(message, options);
    this.answered = options?.answered ?? false;
    this.key = options?.key;
  }

  readonly answered: boolean;
  readonly key: string | undefined;
}
