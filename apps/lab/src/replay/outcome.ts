import type { AlgorithmName } from 'nestjs-valkey-rate-limit';

/** A client and how it fared. */
export interface ClientRefusals {
  readonly client: string;
  readonly refused: number;
  readonly requests: number;
}

/** Shares of the limit: 1 is all of it. The client that so many percent do not exceed. */
export interface Closeness {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly most: number;
}

/** What a policy would have done. Times are in milliseconds since 1970, shares from 0 to 1. */
export interface PolicyOutcome {
  readonly name: string;
  readonly algorithm: AlgorithmName;
  /** As it was asked for. */
  readonly written: string;
  readonly requestsRefused: number;
  readonly requestsRefusedShare: number;
  /** Of those that are kept apart. */
  readonly clientsRefused: number;
  readonly clientsRefusedShare: number;
  readonly refusedMost: readonly ClientRefusals[];
  readonly firstRefusal: number | undefined;
  readonly lastRefusal: number | undefined;
  readonly worstMinute: { readonly at: number; readonly refused: number } | undefined;
  /** The longest that an allowed request would have waited for its turn. */
  readonly longestWaitMs: number;
  /** How much of the limit clients had used at their worst. */
  readonly closeness: Closeness;
}
