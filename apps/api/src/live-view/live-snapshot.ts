import type { PolicyDescription, RateLimitHealthResult, TopKey } from 'nestjs-valkey-rate-limit';

/** How many decisions there were, by outcome. */
export type OutcomeCounts = Readonly<Record<Counted, number>>;

/** What is counted: the outcomes, and what policies in shadow would have refused. */
export const COUNTED = [
  'allowed',
  'denied',
  'shed',
  'unavailable',
  'forbidden',
  'unidentified',
  'unlimited',
  'shadow-denied',
] as const;
export type Counted = (typeof COUNTED)[number];

export interface LivePolicy {
  readonly policy: string;
  /** Left out where no route has it. */
  readonly description?: PolicyDescription;
  readonly lastSecond: OutcomeCounts;
  readonly lastMinute: OutcomeCounts;
  /** Who is closest to the limit, in all instances together, a few seconds ago; or nobody could say. */
  readonly top: readonly TopKey[] | 'unavailable';
}

/** Requests to a route that were answered with 429 or 503. */
export interface RouteRefusals {
  /** `GET /products/:id`, as it is written in the code. */
  readonly route: string;
  readonly status: number;
  readonly lastMinute: number;
}

/** How one instance is, as of a moment. */
export interface LiveSnapshot {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Since when is counted: nothing is while nobody looks. */
  readonly since: number;
  readonly instance: { readonly pid: number; readonly uptimeSeconds: number };
  readonly store: RateLimitHealthResult;
  readonly policies: readonly LivePolicy[];
  readonly routes: readonly RouteRefusals[];
}
