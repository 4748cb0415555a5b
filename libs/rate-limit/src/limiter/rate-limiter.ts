import { type Clock, systemClock } from '../decision/clock.js';
import { RateLimitConfigError, show } from '../decision/config-error.js';
import type { Decision, StoreName, Verdict } from '../decision/decision.js';
import { MemoryStore } from '../storage/memory/memory-store.js';
import type { Attempt, Store } from '../storage/store.js';
import { type LimiterLog, Outage } from './outage.js';
import type { Policy } from './policy.js';
import type { PolicyName } from './register.js';
import { storeKey } from './store-key.js';

/** One policy applied to one subject at one cost. */
export interface PolicyAttempt {
  readonly policy: Policy<never>;
  /** Who is counted; `undefined` is the one bucket of all unknown. */
  readonly subject: string | undefined;
  readonly cost: number;
}

export interface RateLimiterOptions {
  readonly store: Store;
  readonly policies: ReadonlyMap<string, Policy<never>>;
  /** What every key in the store begins with. */
  readonly prefix: string;
  readonly log: LimiterLog;
  readonly clock?: Clock;
}

/** Whom a call of the service counts, and how much. */
export interface ConsumeOptions {
  /** Who is counted: the text that the policy's key function would give. */
  key: string;
  /** How much of the limit it takes: a whole number from 0. Left out: 1. */
  cost?: number;
}

/**
 * The engine: policies applied to keys, decided by the store, and by each policy's `onStoreFailure` when the store
 * does not answer. In a Nest application, inject it to limit what is no HTTP request.
 *
 * @example
 * const decision = await limiter.consume('sms', { key: phone });
 * if (decision.outcome === 'denied') return `Try again in ${decision.retryAfterMs} ms`;
 */
export class RateLimiter {
  readonly #store: Store;
  readonly #local: MemoryStore;
  readonly #outage: Outage;

  constructor(private readonly options: RateLimiterOptions) {
    const clock = options.clock ?? systemClock;
    this.#store = options.store;
    this.#local = new MemoryStore(clock);
    this.#outage = new Outage(options.log, clock);
  }

  /**
   * Takes `cost` from a key's limit, if it is there.
   *
   * Never rejects because of the store: an answer that did not come is an `unavailable` decision, or a local one.
   *
   * @throws {RateLimitConfigError} for a policy that does not exist, an empty key, or a cost that is no whole number
   */
  async consume(policy: PolicyName, { key, cost = 1 }: ConsumeOptions): Promise<Decision> {
    const attempt = {
      policy: this.#policy(policy),
      subject: checkedKey(policy, key),
      cost: checkedCost(policy, cost),
    };
    const [decision] = await this.decide([attempt]);
    return decision!;
  }

  /** What a key could still take. Takes nothing. */
  peek(policy: PolicyName, { key }: Pick<ConsumeOptions, 'key'>): Promise<Decision> {
    return this.consume(policy, { key, cost: 0 });
  }

  /**
   * Forgets what a key has used.
   *
   * @throws {StoreUnavailableError} when Valkey did not answer
   */
  async reset(policy: PolicyName, { key }: Pick<ConsumeOptions, 'key'>): Promise<void> {
    const stored = storeKey(this.options.prefix, checkedKey(policy, key), this.#policy(policy).name);
    this.#local.reset(stored);
    await this.#store.reset(stored);
  }

  /**
   * Connects the store, and says so once if that fails: the application starts anyway.
   *
   * @internal
   */
  async open(): Promise<void> {
    this.options.log.log(`Counting in ${this.#store.place}.`);
    try {
      await this.#store.open();
    } catch (error) {
      this.#outage.failed(error as Error, 0);
    }
  }

  /**
   * Lets go of the store.
   *
   * @internal
   */
  async close(): Promise<void> {
    await this.#store.close();
  }

  /**
   * Decides attempts together, all or nothing, in one round trip. Decisions come in the order of the attempts.
   *
   * @internal
   */
  decide(attempts: readonly PolicyAttempt[]): readonly Decision[] | Promise<readonly Decision[]> {
    const stored = attempts.map((attempt) => this.#stored(attempt));
    const verdicts = this.#store.consume(stored);
    if (!(verdicts instanceof Promise)) return toDecisions(attempts, verdicts, this.#store.name);
    return this.#afterStore(attempts, stored, verdicts);
  }

  async #afterStore(
    attempts: readonly PolicyAttempt[],
    stored: readonly Attempt[],
    pending: Promise<readonly Verdict[]>,
  ): Promise<readonly Decision[]> {
    let verdicts: readonly Verdict[];
    try {
      verdicts = await pending;
    } catch (error) {
      this.#outage.failed(error as Error, attempts.length);
      return this.#withoutStore(attempts, stored, error as Error);
    }
    this.#outage.answered();
    return toDecisions(attempts, verdicts, this.#store.name);
  }

  /** Local policies are decided here, all or nothing like everything else: nothing is taken where one is closed. */
  #withoutStore(
    attempts: readonly PolicyAttempt[],
    stored: readonly Attempt[],
    cause: Error,
  ): readonly Decision[] {
    const closed = attempts.some(({ policy }) => policy.onStoreFailure === 'closed');
    const isLocal = (_: unknown, index: number) => attempts[index]!.policy.onStoreFailure === 'local';
    const asked = stored
      .filter(isLocal)
      .map(({ rule, key, cost }) => ({ rule, key, cost: closed ? 0 : cost }));
    const locals = toDecisions(attempts.filter(isLocal), this.#local.consume(asked), 'local').values();
    return attempts.map(({ policy: { name, onStoreFailure, rule } }): Decision => {
      if (onStoreFailure === 'local') return locals.next().value!;
      return { outcome: 'unavailable', policy: name, limit: rule.quota.limit, onStoreFailure, cause };
    });
  }

  #stored({ policy, subject, cost }: PolicyAttempt): Attempt {
    return { rule: policy.rule, key: storeKey(this.options.prefix, subject, policy.name), cost };
  }

  #policy(name: string): Policy<never> {
    const policy = this.options.policies.get(name);
    if (policy !== undefined) return policy;
    throw unknownPolicy('RateLimiter', name, this.options.policies.keys());
  }
}

/** For whoever names a policy that is not there. */
export function unknownPolicy(where: string, name: unknown, known: Iterable<string>): RateLimitConfigError {
  const names = [...known].map((policy) => `"${policy}"`).join(', ');
  const mend = names === '' ? 'No policies are configured.' : `Configured: ${names}.`;
  return new RateLimitConfigError('UNKNOWN_POLICY', where, `there is no policy ${show(name)}. ${mend}`);
}

function toDecisions(
  attempts: readonly PolicyAttempt[],
  verdicts: readonly Verdict[],
  store: StoreName,
): readonly Decision[] {
  return verdicts.map((verdict, index): Decision => {
    const { name, rule } = attempts[index]!.policy;
    const { remaining, nextMs, resetMs } = verdict;
    const counted = { policy: name, limit: rule.quota.limit, store, remaining, nextMs, resetMs };
    return verdict.outcome === 'allowed'
      ? { outcome: 'allowed', ...counted, delayMs: verdict.delayMs }
      : { outcome: 'denied', ...counted, retryAfterMs: verdict.retryAfterMs };
  });
}

function checkedKey(policy: string, key: unknown): string {
  if (typeof key === 'string' && key !== '') return key;
  throw new RateLimitConfigError(
    'INVALID_KEY',
    `policy "${policy}"`,
    `key must be a text that is not empty, not ${show(key)}.`,
  );
}

function checkedCost(policy: string, cost: unknown): number {
  if (Number.isSafeInteger(cost) && (cost as number) >= 0) return cost as number;
  throw new RateLimitConfigError(
    'INVALID_COST',
    `policy "${policy}"`,
    `cost must be a whole number from 0, not ${show(cost)}.`,
  );
}
