import type { Observable } from 'rxjs';
import { RateLimitConfigError } from '../decision/config-error.js';
import type { Decision, StoreName } from '../decision/decision.js';
import type { Duration } from '../decision/duration.js';
import {
  checkedAt,
  checkedCost,
  checkedCount,
  checkedKey,
  checkedLease,
  checkedMaxWait,
  unknownPolicy,
} from './checks.js';
import type { DecisionEvent } from './decision-event.js';
import type { Applied } from './attempt.js';
import { type Engine, holdsPlaces, unlimited } from './engine.js';
import type { LimitOverrides } from './overrides.js';
import type { Policy } from './policy.js';
import type { PolicyName } from './register.js';
import type { RouteDescription } from './route-description.js';
import { schedule } from './schedule.js';
import type { Top, TopKeys } from './top/top-keys.js';

/** Whom a call of the service counts, and how much. */
export interface ConsumeOptions {
  /** Who is counted: the text that the policy's key function would give. */
  key: string;
  /** How much of the limit it takes: a whole number from 0. Left out: 1. */
  cost?: number;
  /** The key's plan, for a policy by plan. Left out: the policy's default. */
  plan?: string;
  /** The key's time zone, for a quota that names none. Left out: UTC. */
  timeZone?: string;
}

/** Whose turn a task waits for, and how long at the most. */
export interface ScheduleOptions extends ConsumeOptions {
  /** Gives up when it is aborted before the task has begun, with its reason. The task is given it as well. */
  signal?: AbortSignal;
  /** The longest that the task may wait for its turn. Left out: as long as it takes. */
  maxWait?: Duration;
}

/** What is given back. All of it stands in the decision: `{ key, ...decision }`. */
export interface RefundOptions extends ConsumeOptions {
  /** When it was taken. Left out: now. */
  at?: number;
  /** Which store took it. Left out: the one that is configured. */
  store?: StoreName;
  /** Under which id places are held, for a concurrency policy. */
  lease?: string;
}

/** Held places of a concurrency policy. All of it stands in the decision: `{ key, ...decision }`. */
export type LeaseOptions = Pick<RefundOptions, 'key' | 'plan' | 'lease' | 'store'>;

/**
 * The limits of the module's policies, for what is no HTTP request: inject it.
 *
 * @example
 * const decision = await limiter.consume('sms', { key: phone });
 * if (decision.outcome === 'denied') return `Try again in ${decision.retryAfterMs} ms`;
 */
export class RateLimiter {
  constructor(
    private readonly engine: Engine,
    private readonly policies: ReadonlyMap<string, Policy<never>>,
    private readonly watchers: { readonly top: Top | undefined; close(): void } | undefined = undefined,
    private readonly routes: () => readonly RouteDescription[] = () => [],
  ) {}

  /** What limits each route of the application, in the order in which it is decided. */
  describe(): readonly RouteDescription[] {
    return this.routes();
  }

  /**
   * Every decision of this process, as it is made: of requests, messages, tasks and calls of this service, of policies in
   * shadow with what they would have said. It costs nothing while nobody listens. What a listener throws nobody catches.
   *
   * @example
   * limiter.decisions$.subscribe((decision) => {
   *   if (decision.outcome === 'allowed' && decision.shadow?.outcome === 'denied') wouldHaveBeenRefused(decision.policy);
   * });
   */
  get decisions$(): Observable<DecisionEvent> {
    return this.engine.decisions$;
  }

  /** Limits that change while running. */
  get overrides(): LimitOverrides {
    return this.engine.overrides;
  }

  /**
   * Takes `cost` from a key's limit, if it is there.
   *
   * Never rejects because of the store: an answer that did not come is an `unavailable` decision, or a local one.
   *
   * @throws {RateLimitConfigError} for a policy that does not exist, an empty key, or a cost that is no whole number
   */
  async consume(policy: PolicyName, { key, cost = 1, plan, timeZone }: ConsumeOptions): Promise<Decision> {
    const applied = this.#applied(policy, key, plan, timeZone);
    const attempt = this.engine.attempt(applied, checkedCost(policy, cost));
    if (attempt === undefined) return unlimited(policy, plan);
    const decided = this.engine.decide([attempt]);
    return decided instanceof Promise ? (await decided)[0]! : decided[0]!;
  }

  /**
   * Runs a task in its turn, across all instances: under a leaky bucket one after the other, evenly; under concurrency as
   * many at once as there are places, which are held until it has ended; under the others as soon as the limit allows it.
   *
   * @returns what the task returns
   * @throws {ScheduleError} (rejects) when it did not run; then nothing was taken
   * @throws {RateLimitConfigError} for a policy that does not exist, an empty key, or what is no duration
   *
   * @example
   * await limiter.schedule('sms-provider', { key: 'all', maxWait: '10s' }, () => provider.send(phone, text));
   */
  async schedule<Result>(
    policy: PolicyName,
    { key, cost = 1, plan, timeZone, signal, maxWait }: ScheduleOptions,
    task: (signal: AbortSignal | undefined) => Result | Promise<Result>,
  ): Promise<Result> {
    const applied = this.#applied(policy, key, plan, timeZone);
    const options = { signal, maxWaitMs: checkedMaxWait(policy, maxWait) };
    return schedule(this.engine, applied, checkedCost(policy, cost), task, options);
  }

  /** What a key could still take. Takes nothing. */
  peek(policy: PolicyName, options: Omit<ConsumeOptions, 'cost'>): Promise<Decision> {
    return this.consume(policy, { ...options, cost: 0 });
  }

  /**
   * Gives back what was taken, as far as it has not come back by itself: never more than that.
   *
   * @throws {StoreUnavailableError} when Valkey did not answer
   *
   * @example
   * await limiter.refund('login', { key, ...decision });
   */
  async refund(
    policy: PolicyName,
    { key, plan, timeZone, cost, at, store, lease }: RefundOptions,
  ): Promise<void> {
    const given = checkedCost(policy, cost ?? 1);
    const taken = checkedAt(policy, at);
    const ask = { cost: -given, ...(taken !== undefined && { at: taken }) };
    if (given === 0) return;
    const applied = this.#applied(policy, key, plan, timeZone);
    const whole = holdsPlaces(applied.policy.rule) ? { ...ask, lease: checkedLease(policy, lease) } : ask;
    await this.engine.ask(applied, whole, store);
  }

  /**
   * Prolongs the lease of places that are held. Answers whether they still were: if not, somebody else may have them.
   *
   * @throws {RateLimitConfigError} for a policy without places
   * @throws {StoreUnavailableError} when Valkey did not answer
   */
  async renew(policy: PolicyName, { key, plan, store, lease }: LeaseOptions): Promise<boolean> {
    this.#requirePlaces(policy);
    const ask = { cost: 1, lease: checkedLease(policy, lease), renew: true };
    const answer = await this.engine.ask(this.#applied(policy, key, plan), ask, store);
    return answer?.verdicts[0]!.outcome === 'allowed';
  }

  /**
   * Gives the places of a lease back, all of them. Doing it twice, or when the lease has ended, is harmless.
   *
   * @throws {RateLimitConfigError} for a policy without places
   * @throws {StoreUnavailableError} when Valkey did not answer; the places come back when the lease ends
   */
  async release(policy: PolicyName, { key, plan, store, lease }: LeaseOptions): Promise<void> {
    this.#requirePlaces(policy);
    const ask = { cost: -1, lease: checkedLease(policy, lease) };
    await this.engine.ask(this.#applied(policy, key, plan), ask, store);
  }

  /**
   * Forgets what a key has used.
   *
   * @throws {StoreUnavailableError} when Valkey did not answer
   */
  async reset(policy: PolicyName, { key }: Pick<ConsumeOptions, 'key'>): Promise<void> {
    await this.engine.reset(this.#policy(policy), checkedKey(policy, key));
  }

  /**
   * Which keys of a policy come closest to their limit, or over it, in all instances together: those that asked for most of it
   * in the last minute or two. Instances tell each other every five seconds.
   *
   * @param count how many at the most
   * @throws {RateLimitConfigError} (rejects) without `telemetry: { top }`, and for a policy that does not exist
   * @throws {StoreUnavailableError} (rejects) when Valkey did not answer
   *
   * @example
   * const { keys } = await limiter.top('api', 20);
   */
  async top(policy: PolicyName, count = 10): Promise<TopKeys> {
    const { name } = this.#policy(policy);
    const top = this.watchers?.top;
    if (top !== undefined) return top.top(name, checkedCount('RateLimiter top', count));
    throw new RateLimitConfigError(
      'NO_TOP',
      'RateLimiter top',
      'nobody is kept count of. Say for how many keys of a policy that is to be done: telemetry: { top: 100 }.',
    );
  }

  /** Lets go of the store. The module does it when the application shuts down. */
  close(): Promise<void> {
    this.watchers?.close();
    return this.engine.close();
  }

  #policy(name: string): Policy<never> {
    const policy = this.policies.get(name);
    if (policy !== undefined) return policy;
    throw unknownPolicy('RateLimiter', name, this.policies.keys());
  }

  #applied(name: string, key: unknown, plan?: string, timeZone?: string): Applied {
    return { policy: this.#policy(name), subject: checkedKey(name, key), plan, timeZone };
  }

  #requirePlaces(name: string): void {
    const { rule } = this.#policy(name);
    if (holdsPlaces(rule)) return;
    throw new RateLimitConfigError(
      'NO_PLACES',
      `policy "${name}"`,
      `it counts by ${rule.algorithm}, and only concurrency has places that are renewed and released. Use refund.`,
    );
  }
}
