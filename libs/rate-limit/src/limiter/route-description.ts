import type { AlgorithmName } from '../algorithms/index.js';
import type { FailureMode } from '../decision/decision.js';
import type { PolicyMode } from './policy.js';

/** What a policy allows there: by plan, where it goes by plan. */
export interface LimitDescription {
  readonly plan?: string;
  /** `'unlimited'`, or how much, in how long (in milliseconds; left out where there is no fixed time). */
  readonly limit: number | 'unlimited';
  readonly windowMs?: number;
}

export interface PolicyDescription {
  readonly policy: string;
  readonly algorithm: AlgorithmName;
  readonly limits: readonly LimitDescription[];
  /** Whom it counts, as far as that has a name: `ip`, `tenant`, `ip|body.username`. */
  readonly key: string;
  readonly onStoreFailure: FailureMode;
  /** In `'shadow'` it refuses nobody. */
  readonly mode: PolicyMode;
  /** Whether it is decided after the guards of controllers and handlers, which authenticate. */
  readonly afterGuards: boolean;
}

/** What limits a route, in the order in which it is decided. */
export interface RouteDescription {
  /** `GET /products/:id` */
  readonly route: string;
  /** `ProductsController.find` */
  readonly handler: string;
  readonly policies: readonly PolicyDescription[];
}
