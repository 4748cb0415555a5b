import type { Attempt } from '../storage/store.js';
import type { Limit } from './limit.js';
import type { Policy } from './policy.js';

/** Whom a policy is applied to. */
export interface Applied {
  readonly policy: Policy<never>;
  /** Who is counted; `undefined` is the one bucket of all unknown. */
  readonly subject: string | undefined;
  /** Left out: none that is known. */
  readonly plan?: string | undefined;
  /** In whose days a quota counts that does not say. Left out: UTC. */
  readonly timeZone?: string | undefined;
  /** For those who listen. Left out: none that is known. */
  readonly tenant?: string | undefined;
}

/** One policy applied to one subject at one cost, by the numbers that are the subject's, as the store is asked. */
export interface PolicyAttempt extends Applied, Attempt {
  readonly limit: Limit;
}
