import type { Clock } from '../decision/clock.js';
import type { Decision, FailureMode } from '../decision/decision.js';
import type { Duration } from '../decision/duration.js';
import type { DialectName } from '../http/dialects/index.js';
import type { Problem } from '../http/problem.js';
import type { Cost, PolicyOptions } from '../limiter/policy.js';
import type { ValkeyTarget } from '../storage/valkey/target.js';
import type { Identify, RateLimitContext } from './context.js';

/** A policy as it is written in the module's options. */
export type RateLimitPolicy = PolicyOptions<RateLimitContext>;

/** A policy written at the handler. */
export type InlinePolicy = RateLimitPolicy & {
  /** What header fields, messages and keys call it. Left out: made of the route, such as `get-products`. */
  name?: string;
};

/** How a handler uses a named policy. */
export interface RateLimitUse {
  /** How much of the limit a request to this handler takes, instead of what the policy says. */
  cost?: Cost<RateLimitContext>;
}

/** Policies by name, checked as they are written. For `Register`. */
export function definePolicies<Name extends string>(
  policies: Record<Name, RateLimitPolicy>,
): Record<Name, RateLimitPolicy> {
  return policies;
}

/** The options of `RateLimitModule.forRoot`. */
export interface RateLimitModuleOptions<Name extends string = string> {
  /**
   * Where all instances count together: a URL such as `'valkey://user:password@127.0.0.1:6379/0'` (also `valkeys://`,
   * `redis://`, `rediss://`), a Cluster, what Sentinels watch, or an iovalkey client that the application has, which is
   * used as it is and never closed. Left out: each process counts in its own memory.
   *
   * @example
   * valkey: { url: 'valkeys://valkey.internal:6379', tls: { ca } }
   * valkey: { cluster: ['valkey://10.0.0.1:6379', 'valkey://10.0.0.2:6379'] }
   * valkey: { sentinels: ['valkey://10.0.0.1:26379', 'valkey://10.0.0.2:26379'], primary: 'valkey://user:password@orders' }
   */
  valkey?: ValkeyTarget;
  policies?: Record<Name, RateLimitPolicy>;
  /** Policies that apply to every HTTP route. */
  everyRoute?: NoInfer<Name>[];
  identify?: Identify;
  /** What policies do that do not say otherwise when Valkey does not answer. Left out: `'local'`. */
  onStoreFailure?: FailureMode;
  /**
   * Among how many instances limits are shared while Valkey does not answer and policies count locally: 1 to 10,000, or
   * a function that says it. Left out: 1, so that each instance allows the full limit.
   */
  instances?: number | (() => number);
  /** The longest that a decision may wait for Valkey: 1 ms to 10 s. Left out: 50 ms. */
  deadline?: Duration;
  /** What every key in Valkey begins with. Left out: `'rl:'`. Applications that share a Valkey need different ones. */
  prefix?: string;
  /** The dialect of the header fields. Left out: `'draft-11'`. */
  headers?: DialectName | 'none';
  /**
   * What time it is, in whole milliseconds since 1970. Left out: Valkey's own clock, which all instances share, or this
   * process's for the memory store. For tests and simulations.
   */
  clock?: Clock;
  /** Makes another body of a refusal. Status and header fields stay. */
  problem?: (
    problem: Problem,
    context: RateLimitContext,
    decisions: readonly Decision[],
  ) => Readonly<Record<string, unknown>>;
}

/** For `forRootAsync({ useClass })` and `useExisting`. */
export interface RateLimitOptionsFactory {
  createRateLimitOptions(): RateLimitModuleOptions | Promise<RateLimitModuleOptions>;
}
