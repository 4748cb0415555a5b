import { randomBytes } from 'node:crypto';
import type { Ask } from '../algorithms/algorithm.js';
import { compileRule, type Rule } from '../algorithms/index.js';
import type { Clock } from '../decision/clock.js';
import { RateLimitConfigError } from '../decision/config-error.js';
import type { Decision, StoreName } from '../decision/decision.js';
import { OptionReader } from '../decision/option-reader.js';
import { type Answer, type Attempt, type Store, StoreUnavailableError } from '../storage/store.js';
import { checkedAt, checkedCost, checkedKey, checkedLease, unknownPolicy } from './checks.js';
import { Circuit } from './circuit.js';
import { Local } from './local.js';
import { type LimiterLog, Outage } from './outage.js';
import type { Policy } from './policy.js';
import type { PolicyName } from './register.js';
import { storeKey } from './store-key.js';
import { toDecisions } from './to-decisions.js';

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
  /** Among how many processes limits are shared while each counts in its own memory. */
  readonly instances: () => number;
  readonly log: LimiterLog;
  readonly clock?: Clock;
}

const probeRule = compileRule(
  new OptionReader('the probe', { algorithm: 'fixed-window', limit: 1, window: 1 }),
);

/** Whom a call of the service counts, and how much. */
export interface ConsumeOptions {
  /** Who is counted: the text that the policy's key function would give. */
  key: string;
  /** How much of the limit it takes: a whole number from 0. Left out: 1. */
  cost?: number;
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
export type LeaseOptions = Pick<RefundOptions, 'key' | 'lease' | 'store'>;

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
  readonly #local: Local;
  readonly #outage: Outage;
  readonly #circuit = new Circuit(
    () => this.#probe(),
    () => void this.#handOver(),
  );

  constructor(private readonly options: RateLimiterOptions) {
    this.#store = options.store;
    this.#local = new Local(options.clock);
    this.#outage = new Outage(options.log, () => performance.now());
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
   * Gives back what was taken, as far as it has not come back by itself: never more than that.
   *
   * @throws {StoreUnavailableError} when Valkey did not answer
   *
   * @example
   * await limiter.refund('login', { key, ...decision });
   */
  async refund(policy: PolicyName, { key, cost, at, store, lease }: RefundOptions): Promise<void> {
    const given = checkedCost(policy, cost ?? 1);
    const taken = checkedAt(policy, at);
    const ask = { cost: -given, ...(taken !== undefined && { at: taken }) };
    if (given === 0) return;
    const { rule } = this.#policy(policy);
    await this.#ask(
      policy,
      key,
      holdsPlaces(rule) ? { ...ask, lease: checkedLease(policy, lease) } : ask,
      store,
    );
  }

  /**
   * Prolongs the lease of places that are held. Answers whether they still were: if not, somebody else may have them.
   *
   * @throws {RateLimitConfigError} for a policy without places
   * @throws {StoreUnavailableError} when Valkey did not answer
   */
  async renew(policy: PolicyName, { key, store, lease }: LeaseOptions): Promise<boolean> {
    this.#requirePlaces(policy);
    const ask = { cost: 1, lease: checkedLease(policy, lease), renew: true };
    const { verdicts } = await this.#ask(policy, key, ask, store);
    return verdicts[0]!.outcome === 'allowed';
  }

  /**
   * Gives the places of a lease back, all of them. Doing it twice, or when the lease has ended, is harmless.
   *
   * @throws {RateLimitConfigError} for a policy without places
   * @throws {StoreUnavailableError} when Valkey did not answer; the places come back when the lease ends
   */
  async release(policy: PolicyName, { key, store, lease }: LeaseOptions): Promise<void> {
    this.#requirePlaces(policy);
    await this.#ask(policy, key, { cost: -1, lease: checkedLease(policy, lease) }, store);
  }

  /**
   * Forgets what a key has used.
   *
   * @throws {StoreUnavailableError} when Valkey did not answer
   */
  async reset(policy: PolicyName, { key }: Pick<ConsumeOptions, 'key'>): Promise<void> {
    const stored = this.#key(this.#policy(policy), checkedKey(policy, key));
    this.#local.reset(stored);
    await this.#fromStore(() => this.#store.reset(stored));
  }

  /** Where it counts: `Valkey at 127.0.0.1:6379`. */
  get place(): string {
    return this.#store.place;
  }

  /**
   * Connects the store, and says so once if that fails: the application starts anyway.
   *
   * @internal
   */
  async open(): Promise<void> {
    try {
      await this.#store.open();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      this.#failed(error, 0);
    }
  }

  /** Lets go of the store. The module does it when the application shuts down. */
  async close(): Promise<void> {
    this.#circuit.end();
    await this.#store.close();
  }

  /**
   * Decides attempts together, all or nothing, in one round trip. Decisions come in the order of the attempts.
   *
   * @internal
   */
  decide(attempts: readonly PolicyAttempt[]): readonly Decision[] | Promise<readonly Decision[]> {
    const stored = attempts.map((attempt) => this.#stored(attempt));
    const { cause } = this.#circuit;
    if (cause !== undefined) {
      this.#outage.failed(cause, attempts.length);
      return this.#withoutStore(attempts, stored, cause);
    }
    const answer = this.#store.consume(stored);
    if (!(answer instanceof Promise)) return toDecisions(attempts, stored, answer, this.#store.name);
    return this.#afterStore(attempts, stored, answer);
  }

  async #afterStore(
    attempts: readonly PolicyAttempt[],
    stored: readonly Attempt[],
    pending: Promise<Answer>,
  ): Promise<readonly Decision[]> {
    let answer: Answer;
    try {
      answer = await pending;
    } catch (error) {
      this.#failed(error as Error, attempts.length);
      return this.#withoutStore(attempts, stored, error as Error);
    }
    this.#outage.answered();
    return toDecisions(attempts, stored, answer, this.#store.name);
  }

  /** A store that answers with an error is there, and may still deny: only one that does not is left alone. */
  #failed(error: Error, decisions: number): void {
    this.#outage.failed(error, decisions);
    if (!(error instanceof StoreUnavailableError && error.answered)) this.#circuit.open(error);
  }

  /** A look at a key that nobody has: it takes the way of every decision, and needs no other rights. */
  async #probe(): Promise<void> {
    const key = storeKey(this.options.prefix, undefined, 'probe', probeRule.id);
    try {
      await this.#store.consume([{ rule: probeRule, key, cost: 0 }]);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError && error.answered)) throw error;
    }
  }

  /** Local policies are decided here, all or nothing like everything else: nothing is taken where one is closed. */
  #withoutStore(
    attempts: readonly PolicyAttempt[],
    stored: readonly Attempt[],
    cause: Error,
  ): readonly Decision[] {
    const closed = attempts.some(({ policy }) => policy.onStoreFailure === 'closed');
    const isLocal = (_: unknown, index: number) => attempts[index]!.policy.onStoreFailure === 'local';
    const instances = this.options.instances();
    const asking = attempts.filter(isLocal);
    const rules = asking.map(({ policy }) => policy.localRule(instances));
    const asked = stored.filter(isLocal).map((attempt) => (closed ? { ...attempt, cost: 0 } : attempt));
    const answer = this.#local.consume(asked, rules);
    const counted = asked.map((attempt, index) => ({ ...attempt, rule: rules[index]! }));
    const locals = toDecisions(asking, counted, answer, 'local').values();
    return attempts.map(({ policy: { name, onStoreFailure, rule } }): Decision => {
      if (onStoreFailure === 'local') return locals.next().value!;
      return {
        outcome: 'unavailable',
        policy: name,
        limit: rule.quota.limit,
        cost: 0,
        onStoreFailure,
        cause,
      };
    });
  }

  async #handOver(): Promise<void> {
    try {
      await this.#local.handOver(this.#store);
    } catch (error) {
      this.#failed(error as Error, 0);
    }
  }

  #stored({ policy, subject, cost }: PolicyAttempt): Attempt {
    const { rule } = policy;
    const key = this.#key(policy, subject);
    return holdsPlaces(rule) ? { rule, key, cost, lease: newLease() } : { rule, key, cost };
  }

  /** What is no question about a limit, of the store that is meant. */
  async #ask(policy: PolicyName, key: string, ask: Ask, store: StoreName | undefined): Promise<Answer> {
    const found = this.#policy(policy);
    const attempt = { ...ask, rule: found.rule, key: this.#key(found, checkedKey(policy, key)) };
    if (store === 'local') return this.#local.consume([attempt], [found.localRule(this.options.instances())]);
    return this.#fromStore(() => this.#store.consume([attempt]));
  }

  /** @throws {StoreUnavailableError} (rejects) at once while the store is left alone */
  async #fromStore<Result>(ask: () => Result | Promise<Result>): Promise<Result> {
    const { cause } = this.#circuit;
    if (cause !== undefined) throw cause;
    try {
      return await ask();
    } catch (error) {
      this.#failed(error as Error, 0);
      throw error;
    }
  }

  #requirePlaces(policy: PolicyName): void {
    const { rule } = this.#policy(policy);
    if (holdsPlaces(rule)) return;
    throw new RateLimitConfigError(
      'NO_PLACES',
      `policy "${policy}"`,
      `it counts by ${rule.algorithm}, and only concurrency has places that are renewed and released. Use refund.`,
    );
  }

  #key({ name, rule }: Policy<never>, subject: string | undefined): string {
    return storeKey(this.options.prefix, subject, name, rule.id);
  }

  #policy(name: string): Policy<never> {
    const policy = this.options.policies.get(name);
    if (policy !== undefined) return policy;
    throw unknownPolicy('RateLimiter', name, this.options.policies.keys());
  }
}

function holdsPlaces(rule: Rule): boolean {
  return rule.quota.unit === 'concurrent-requests';
}

/** 72 random bits: long enough never to meet another, short enough for a store that keeps one for each place. */
function newLease(): string {
  return randomBytes(9).toString('base64url');
}
