import { compileRule } from '../algorithms/index.js';
import { OptionReader } from '../decision/option-reader.js';
import { type Answer, type Attempt, type Store, StoreUnavailableError } from '../storage/store.js';
import { Circuit } from './circuit.js';
import { type LimiterLog, Outage } from './outage.js';
import { sisterKey } from './store-key.js';

const probeRule = compileRule(
  new OptionReader('the probe', { algorithm: 'fixed-window', limit: 1, window: 1 }),
);

/** What is known about the store without asking it. */
export interface StoreState {
  readonly store: Store['name'];
  /** `open`: it is left alone, or a shard of it is, because it did not answer. */
  readonly circuit: 'closed' | 'open';
  /** Whether it made the decisions of the last second, as far as it was asked. */
  readonly decides: boolean;
}

/**
 * A store that is left alone while it does not answer, shard by shard, and whose outages are told once.
 */
export class WatchedStore {
  readonly #outage: Outage;
  /** Of the shards that did not answer. Empty in good times. */
  readonly #circuits = new Map<string, Circuit>();
  #closed = false;

  /** @param onRecovered the store answers again for the keys for which `answers` is true */
  constructor(
    private readonly store: Store,
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

  get state(): StoreState {
    const open = this.#circuits.size > 0;
    return {
      store: this.store.name,
      circuit: open ? 'open' : 'closed',
      decides: !open && !this.#outage.isRecent,
    };
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
    if (this.#circuits.size > 0) {
      const cause = attempts
        .map(({ key }) => this.#circuit(key))
        .find((circuit) => circuit !== undefined)?.cause;
      if (cause !== undefined) {
        this.#outage.failed(cause, attempts.length);
        return cause;
      }
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
    if (circuit !== undefined) throw circuit.cause;
    try {
      return await question(this.store);
    } catch (error) {
      this.#failed(error as Error, 0);
      throw error;
    }
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

  /** A store that answers with an error is there, and may still deny: only one that does not is left alone. */
  #failed(error: Error, decisions: number): void {
    this.#outage.failed(error, decisions);
    if (hasAnswered(error) || this.#closed) return;
    const key = (error instanceof StoreUnavailableError && error.key) || '{}';
    const shard = this.store.shardOf?.(key) ?? '';
    if (this.#circuits.has(shard)) return;
    this.#circuits.set(
      shard,
      new Circuit(
        error,
        () => this.#probe(key),
        () => void this.#recovered(shard),
      ),
    );
  }

  async #recovered(shard: string): Promise<void> {
    this.#circuits.delete(shard);
    try {
      await this.onRecovered(this.store, (key) => this.#circuit(key) === undefined);
    } catch (error) {
      this.#failed(error as Error, 0);
    }
  }

  /** A look at a key that nobody has: it takes the way of every decision, and needs no other rights. */
  async #probe(key: string): Promise<void> {
    try {
      await this.store.consume([{ rule: probeRule, key: sisterKey(key, 'probe', probeRule.id), cost: 0 }]);
    } catch (error) {
      if (!hasAnswered(error)) throw error;
    }
  }
}

function hasAnswered(error: unknown): boolean {
  return error instanceof StoreUnavailableError && error.answered;
}
