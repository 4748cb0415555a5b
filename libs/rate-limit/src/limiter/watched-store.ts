import { compileRule } from '../algorithms/index.js';
import { OptionReader } from '../decision/option-reader.js';
import { type Answer, type Attempt, type Store, StoreUnavailableError } from '../storage/store.js';
import { Circuit } from './circuit.js';
import { type LimiterLog, Outage } from './outage.js';
import { storeKey } from './store-key.js';

const probeRule = compileRule(
  new OptionReader('the probe', { algorithm: 'fixed-window', limit: 1, window: 1 }),
);

/**
 * A store that is left alone while it does not answer, and whose outages are told once.
 */
export class WatchedStore {
  readonly #outage: Outage;
  readonly #circuit: Circuit;

  /** @param onRecovered the store answers again */
  constructor(
    private readonly store: Store,
    private readonly prefix: string,
    log: LimiterLog,
    onRecovered: (store: Store) => Promise<void>,
  ) {
    this.#outage = new Outage(log, () => performance.now());
    this.#circuit = new Circuit(
      () => this.#probe(),
      () => void onRecovered(store).catch((error: Error) => this.#failed(error, 0)),
    );
  }

  get name(): Store['name'] {
    return this.store.name;
  }

  get place(): string {
    return this.store.place;
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
    this.#circuit.end();
    await this.store.close();
  }

  /** What the store decides, or why it does not. A store in this process answers at once. */
  decide(attempts: readonly Attempt[]): Answer | Error | Promise<Answer | Error> {
    const { cause } = this.#circuit;
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
  async ask<Result>(question: (store: Store) => Result | Promise<Result>): Promise<Result> {
    const { cause } = this.#circuit;
    if (cause !== undefined) throw cause;
    try {
      return await question(this.store);
    } catch (error) {
      this.#failed(error as Error, 0);
      throw error;
    }
  }

  async #watch(pending: Promise<Answer>, decisions: number): Promise<Answer | Error> {
    try {
      const answer = await pending;
      this.#outage.answered();
      return answer;
    } catch (error) {
      this.#failed(error as Error, decisions);
      return error as Error;
    }
  }

  /** A store that answers with an error is there, and may still deny: only one that does not is left alone. */
  #failed(error: Error, decisions: number): void {
    this.#outage.failed(error, decisions);
    if (!hasAnswered(error)) this.#circuit.open(error);
  }

  /** A look at a key that nobody has: it takes the way of every decision, and needs no other rights. */
  async #probe(): Promise<void> {
    const key = storeKey(this.prefix, undefined, 'probe', probeRule.id);
    try {
      await this.store.consume([{ rule: probeRule, key, cost: 0 }]);
    } catch (error) {
      if (!hasAnswered(error)) throw error;
    }
  }
}

function hasAnswered(error: unknown): boolean {
  return error instanceof StoreUnavailableError && error.answered;
}
