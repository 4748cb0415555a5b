import type { AlgorithmOptions } from '../algorithms/index.js';
import type { Clock } from '../decision/clock.js';
import type { Decision, FailureMode } from '../decision/decision.js';
import type { Duration } from '../decision/duration.js';
import type { DialectName } from '../http/dialects/index.js';
import type { Problem } from '../http/problem.js';
import type { Cost, PlannedOptions, PolicyOptions, PolicySettings } from '../limiter/policy.js';
import type { ValkeyTarget } from '../storage/valkey/target.js';
import type { TelemetryOptions } from '../telemetry/telemetry-options.js';
import type { RateLimitContext } from './context.js';
import type { Identify } from './identity.js';
import type { Settle } from './settle.js';
import type { ShedOptions } from './shed-options.js';

/** What becomes of a request of which nobody can say whose it is, because asking failed. */
export type IdentityFailureMode = 'default-plan' | 'closed';

/** A policy as it is written in the module's options. */
export type RateLimitPolicy<Plan extends string = string> = PolicyOptions<RateLimitContext, Plan>;

/** A policy written at the handler. */
export type InlinePolicy = RateLimitPolicy & {
  /** What header fields, messages and keys call it. Left out: made of the route, such as `get-products`. */
  name?: string;
  /** What a request really costs, when it is known how it ended. Left out: its `cost`. */
  settle?: Settle;
};

/** How a handler uses a named policy. */
export interface RateLimitUse {
  /** How much of the limit a request to this handler takes, instead of what the policy says. */
  cost?: Cost<RateLimitContext>;
  /** What it really costs, when it is known how the request ended. Left out: its `cost`. */
  settle?: Settle;
}

/** A policy with other numbers for each plan, as `byPlan` makes it. */
export type PlannedPolicy<Plan extends string = string> = PolicySettings<RateLimitContext> &
  PlannedOptions<Plan>;

/** What a policy by plan says beside its plans. */
export type PlanSettings<Plan extends string> = PolicySettings<RateLimitContext> & {
  /** The plan of those whose plan is not known. It must have a limit. */
  default: NoInfer<Plan>;
  /** Only at a handler: as of any policy that is written there. */
  name?: string;
  /** Only at a handler, likewise. */
  settle?: Settle;
};

/**
 * One policy with other numbers for each plan of `identify.plan`. All plans count by the same algorithm, so that whoever
 * changes the plan keeps what was used. Counted by tenant unless `key` says otherwise, or by user where nothing tells the
 * tenant.
 *
 * @example
 * byPlan(
 *   {
 *     free: { algorithm: 'token-bucket', limit: 60, window: '1m' },
 *     pro: { algorithm: 'token-bucket', limit: 600, window: '1m', burst: 50 },
 *     staff: 'unlimited',
 *   },
 *   { default: 'free' },
 * )
 */
export function byPlan<Plan extends string>(
  plans: { [Name in Plan]: AlgorithmOptions | 'unlimited' },
  settings: PlanSettings<Plan>,
): PlannedPolicy<Plan> {
  return { ...settings, plans };
}

/** Policies by name, checked as they are written. For `Register`. */
export function definePolicies<Name extends string, Plan extends string = never>(
  policies: Record<Name, RateLimitPolicy<Plan>>,
): Record<Name, RateLimitPolicy<Plan>> {
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
  /**
   * What becomes of a request when a function of `identify` fails that it needs: with `'default-plan'` what could not be
   * found out is nobody, or the default plan; `'closed'` answers 503. Left out: `'default-plan'`.
   */
  onIdentityFailure?: IdentityFailureMode;
  /**
   * What API keys are hashed with, so that they do not stand in Valkey: at least 16 characters, the same in every
   * instance. With another secret every API key begins anew. Needed by `key.apiKey()` and `context.hash()` only.
   */
  secret?: string;
  /** What policies do that do not say otherwise when Valkey does not answer. Left out: `'local'`. */
  onStoreFailure?: FailureMode;
  /**
   * Among how many instances limits are shared while Valkey does not answer and policies count locally: 1 to 10,000, or
   * a function that says it. Left out: 1, so that each instance allows the full limit.
   */
  instances?: number | (() => number);
  /** The longest that a decision may wait for Valkey: 1 ms to 10 s. Left out: 50 ms. */
  deadline?: Duration;
  /**
   * How long a client that Valkey has refused is refused by this process, without asking again: never longer than Valkey
   * would, and at the most this long, so that a refund, a reset or a raised limit elsewhere is seen in time. 1 ms to 1
   * minute, or `'off'`. Left out: 1 s.
   */
  denyCache?: Duration | 'off';
  /**
   * Where a client is refused that is known to be denied: `'hook'`, before Nest has anything to do with the request, where
   * all that its policies ask is in the address and the header fields and the answer is the same; or `'guard'`. Left
   * out: `'hook'`.
   */
  refuseIn?: 'hook' | 'guard';
  /** Refuses what is less important when there is not enough for all (docs/throttling.md). Left out: nobody is. */
  shed?: ShedOptions;
  /** What can be seen of the limits in operation (docs/observability.md). Left out: the log sums up refusals. */
  telemetry?: TelemetryOptions;
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

/** Where users are authenticated: before the limiter's guard, or in guards behind it. */
export type Authentication = 'middleware' | 'guards';

/** What stands beside the options, for `forRoot` and `forRootAsync`, as the module is made before its options are. */
export interface ModuleExtras {
  /**
   * Where users are authenticated. `'middleware'`: before the limiter's guard, in a middleware, a hook or a global guard
   * of the root module or an earlier one. `'guards'`: in guards of controllers and handlers, which run after it. Policies
   * by user, tenant or plan then wait for those guards; the others do not. Left out: `'middleware'`.
   */
  authentication?: Authentication;
}

/** For `forRootAsync({ useClass })` and `useExisting`. */
export interface RateLimitOptionsFactory {
  createRateLimitOptions(): RateLimitModuleOptions | Promise<RateLimitModuleOptions>;
}
