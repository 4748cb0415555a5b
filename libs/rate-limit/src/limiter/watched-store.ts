import { compileRule } from '../algorithms/index.js';
import { OptionReader } from '../decision/option-reader.js';
import { type Answer, type Attempt, type Store, StoreUnavailableError } from '../storage/store.js';
import { Circuit } from './circuit.js';
import { type LimiterLog, Outage } from './outage.js';
import { sisterKey, storeKey } from './store-key.js';

/** It takes what a decision takes, a write included, from a key that nobody else has and that is gone a second later. */
const probeRule = compileRule(
  new OptionReader('the probe', { algorithm: 'fixed-window', limit: 1_000_000, window: '1s' }),
);

/** What is known about the store without asking it. */
export interface StoreState {
  readonly store: Store['name'];
  /** `open`: it is left alone, or a shard of it is, because it did not answer. */
  readonly circuit: 'closed' | 'open';
  /** Whether it makes decisions, as far as is known. */
  readonly decides: boolean;
}

/**
 * A store whose failures are watched, shard by shard, until it has recovered, and told once.
 */
export class WatchedStore {
  readonly #outage: Outage;
  /** Of the shards that have failed. Empty in good times. */
  readonly #circuits = new Map<string, Circuit>();
  #closed = false;
  #failures = 0;

  /** @param onRecovered the store answers again for the keys for which `answers` is true */
  constructor(
    private readonly store: Store,
    private readonly prefix: string,
    log: LimiterLog,
    private readonly onRecovered: (store: Store, answers: (key: string) => boolean) => Promise<void>,
  ) {
    this.#outage = new Outage(log, () => performance.now());
  }

  get name(): Store['name'] {
    return this.store.name;
  }

  get place(): string {
    return this.store.place;
  }

  /** How often it has been asked and did not answer. */
  get failures(): number {
    return this.#failures;
  }

  get state(): StoreState {
    const open = [...this.#circuits.values()].some(({ isOpen }) => isOpen);
    return {
      store: this.store.name,
      circuit: open ? 'open' : 'closed',
      decides: this.#circuits.size === 0 && !this.#outage.isRecent,
    };
  }

  /** Whether no part of it is left alone. */
  get isWhole(): boolean {
    return this.#circuits.size === 0;
  }

  /** Connects it, and says so once if that fails: the application starts anyway. */
  async open(): Promise<void> {
    try {
      await this.store.open();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      this.#failed(error, 0);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const circuit of this.#circuits.values()) circuit.end();
    await this.store.close();
  }

  /** What the store decides, or why it does not. A store in this process answers at once. */
  decide(attempts: readonly Attempt[]): Answer | Error | Promise<Answer | Error> {
    const cause = this.#circuits.size === 0 ? undefined : this.#openFor(attempts);
    if (cause !== undefined) {
      this.#outage.failed(cause, attempts.length);
      return cause;
    }
    const answer = this.store.consume(attempts);
    return answer instanceof Promise ? this.#watch(answer, attempts.length) : answer;
  }

  /**
   * For what is no decision.
   *
   * @throws {StoreUnavailableError} (rejects) when it does not answer, and at once while it is left alone
   */
  async ask<Result>(key: string, question: (store: Store) => Result | Promise<Result>): Promise<Result> {
    const circuit = this.#circuit(key);
    if (circuit?.isOpen) throw circuit.cause;
    try {
      return await question(this.store);
    } catch (error) {
      this.#failed(error as Error, 0);
      throw error;
    }
  }

  /** Why attempts are not asked for, if one of them is on a shard that is left alone. */
  #openFor(attempts: readonly Attempt[]): Error | undefined {
    for (const { key } of attempts) {
      const circuit = this.#circuit(key);
      if (circuit?.isOpen) return circuit.cause;
    }
    return undefined;
  }

  #circuit(key: string): Circuit | undefined {
    return this.#circuits.get(this.store.shardOf?.(key) ?? '');
  }

  async #watch(pending: Promise<Answer>, decisions: number): Promise<Answer | Error> {
    try {
      const answer = await pending;
      if (this.#circuits.size === 0) this.#outage.answered();
      return answer;
    } catch (error) {
      this.#failed(error as Error, decisions);
      return error as Error;
    }
  }

  #failed(error: Error, decisions: number): void {
    this.#failures += 1;
    this.#outage.failed(error, decisions);
    if (this.#closed) return;
    const failedKey = error instanceof StoreUnavailableError ? error.key : undefined;
    const key = failedKey ?? storeKey(this.prefix, undefined, 'probe', probeRule.id);
    const shard = this.store.shardOf?.(key) ?? '';
    const circuit = this.#circuits.get(shard);
    if (circuit !== undefined) return circuit.failed(error);
    const probe = () => this.#probe(key);
    this.#circuits.set(shard, new Circuit(error, hasAnswered, probe, () => void this.#recovered(shard)));
  }

  async #recovered(shard: string): Promise<void> {
    this.#circuits.delete(shard);
    try {
      await this.onRecovered(this.store, (key) => this.#circuit(key) === undefined);
    } catch (error) {
      this.#failed(error as Error, 0);
    }
  }

  async #probe(key: string): Promise<void> {
    await this.store.consume([{ rule: probeRule, key: sisterKey(key, 'probe', probeRule.id), cost: 1 }]);
  }
}

function hasAnswered(error: Error): boolean {
  return error instanceof StoreUnavailableError && error.answered;
}
