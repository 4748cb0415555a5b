import { randomBytes } from 'node:crypto';
import type { Ask } from '../algorithms/algorithm.js';
import type { Rule } from '../algorithms/index.js';
import type { Clock } from '../decision/clock.js';
import type { Decision, StoreName } from '../decision/decision.js';
import type { Answer, Attempt, Store } from '../storage/store.js';
import { Local } from './local.js';
import type { LimiterLog } from './outage.js';
import type { Policy } from './policy.js';
import { storeKey } from './store-key.js';
import { toDecisions } from './to-decisions.js';
import { type StoreState, WatchedStore } from './watched-store.js';

/** One policy applied to one subject at one cost. */
export interface PolicyAttempt {
  readonly policy: Policy<never>;
  /** Who is counted; `undefined` is the one bucket of all unknown. */
  readonly subject: string | undefined;
  readonly cost: number;
}

export interface EngineOptions {
  readonly store: Store;
  /** What every key in the store begins with. */
  readonly prefix: string;
  /** Among how many processes limits are shared while each counts in its own memory. */
  readonly instances: () => number;
  readonly log: LimiterLog;
  readonly clock?: Clock;
}

/**
 * Policies applied to subjects, decided by the store, and by each policy's `onStoreFailure` when the store does not
 * answer.
 */
export class Engine {
  readonly #store: WatchedStore;
  readonly #local: Local;

  constructor(private readonly options: EngineOptions) {
    const { store, prefix, log, clock } = options;
    this.#local = new Local(clock);
    this.#store = new WatchedStore(store, prefix, log, (...recovered) => this.#local.handOver(...recovered));
  }

  /** Where it counts: `Valkey at 127.0.0.1:6379`. */
  get place(): string {
    return this.#store.place;
  }

  /** How the store is, as far as it is known without asking it. */
  get state(): StoreState {
    return this.#store.state;
  }

  open(): Promise<void> {
    return this.#store.open();
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  /**
   * Decides attempts together, all or nothing, in one round trip. Decisions come in the order of the attempts. Never
   * rejects because of the store.
   */
  decide(attempts: readonly PolicyAttempt[]): readonly Decision[] | Promise<readonly Decision[]> {
    const stored = attempts.map((attempt) => this.#stored(attempt));
    const answer = this.#store.decide(stored);
    return answer instanceof Promise
      ? answer.then((decided) => this.#decisions(attempts, stored, decided))
      : this.#decisions(attempts, stored, answer);
  }

  /**
   * Asks the store that is meant something that is no question about a limit.
   *
   * @throws {StoreUnavailableError} (rejects) when it does not answer
   */
  async ask(policy: Policy<never>, subject: string, ask: Ask, from?: StoreName): Promise<Answer> {
    const attempt = { ...ask, rule: policy.rule, key: this.#key(policy, subject) };
    if (from === 'local') {
      return this.#local.consume([attempt], [policy.localRule(this.options.instances())]);
    }
    return this.#store.ask(attempt.key, (store) => store.consume([attempt]));
  }

  /** @throws {StoreUnavailableError} (rejects) when the store does not answer */
  async reset(policy: Policy<never>, subject: string): Promise<void> {
    const key = this.#key(policy, subject);
    this.#local.reset(key);
    await this.#store.ask(key, (store) => store.reset(key));
  }

  #decisions(
    attempts: readonly PolicyAttempt[],
    stored: readonly Attempt[],
    answer: Answer | Error,
  ): readonly Decision[] {
    if (answer instanceof Error) return this.#withoutStore(attempts, stored, answer);
    return toDecisions(attempts, stored, answer, this.#store.name);
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
      const { limit } = rule.quota;
      return { outcome: 'unavailable', policy: name, limit, cost: 0, onStoreFailure, cause };
    });
  }

  #stored({ policy, subject, cost }: PolicyAttempt): Attempt {
    const { rule } = policy;
    const key = this.#key(policy, subject);
    return holdsPlaces(rule) ? { rule, key, cost, lease: newLease() } : { rule, key, cost };
  }

  #key({ name, rule }: Policy<never>, subject: string | undefined): string {
    return storeKey(this.options.prefix, subject, name, rule.id);
  }
}

/** Whether what is taken is a place that is held until it is released. */
export function holdsPlaces(rule: Rule): boolean {
  return rule.quota.unit === 'concurrent-requests';
}

/** 72 random bits: long enough never to meet another, short enough for a store that keeps one for each place. */
function newLease(): string {
  return randomBytes(9).toString('base64url');
}
