import type { Rule } from '../algorithms/index.js';
import { type Clock, systemClock } from '../decision/clock.js';
import { MemoryStore } from '../storage/memory/memory-store.js';
import { type Answer, type Attempt, type Store, StoreUnavailableError } from '../storage/store.js';

/** As many keys are handed over after an outage, at the most: those that were first asked about. */
const MOST_KEYS = 10_000;

/** As many keys are counted here, at the most: some 10 MB. */
const MOST_CLIENTS = 100_000;

/** How many keys are handed over at a time, so that requests do not wait behind them. */
const AT_A_TIME = 20;

interface Counted {
  /** The policy's own rule, by which the store counts. */
  readonly rule: Rule;
  /** The one that was counted by here, perhaps with a share of the limit. */
  readonly localRule: Rule;
}

/** This process standing in for a store that does not answer. */
export class Local {
  #store: MemoryStore;
  readonly #counted = new Map<string, Counted>();

  constructor(private readonly clock: Clock = systemClock) {
    this.#store = new MemoryStore(clock, MOST_CLIENTS);
  }

  /** @param localRules by which rule each attempt counts here */
  consume(attempts: readonly Attempt[], localRules: readonly Rule[]): Answer {
    for (let index = 0; index < attempts.length; index += 1) {
      const { key, rule } = attempts[index]!;
      if (this.#counted.size < MOST_KEYS || this.#counted.has(key)) {
        this.#counted.set(key, { rule, localRule: localRules[index]! });
      }
    }
    return this.#store.consume(attempts.map((attempt, index) => ({ ...attempt, rule: localRules[index]! })));
  }

  reset(key: string): void {
    this.#store.reset(key);
    this.#counted.delete(key);
  }

  /**
   * Charges the store with what was used here and has not come back by itself, each key once, and forgets it. More than
   * the store has left for a key is charged as what is left. When the store fails again, what it has refused to be charged
   * with is kept for the next time; what it may have been charged with is not.
   *
   * Places of a concurrency policy are not handed over: they are released where they were taken.
   *
   * @param answers whether the store answers for a key; the others stay here
   * @throws {StoreUnavailableError} (rejects) when it fails again
   */
  async handOver(store: Store, answers: (key: string) => boolean): Promise<void> {
    const counted = [...this.#counted].filter(([key]) => answers(key));
    for (let index = 0; index < counted.length; index += AT_A_TIME) {
      const charges = counted
        .slice(index, index + AT_A_TIME)
        .map(([key, rules]) => this.#charge(store, key, rules));
      const settled = await Promise.allSettled(charges);
      const failed = settled.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
      if (failed !== undefined) throw failed.reason;
    }
    // Those that were never counted for the hand-over, because there were too many.
    if (this.#counted.size > 0) return;
    this.#store.close();
    this.#store = new MemoryStore(this.clock, MOST_CLIENTS);
  }

  async #charge(store: Store, key: string, rules: Counted): Promise<void> {
    try {
      for (const attempt of usage(this.#store, key, rules)) await charge(store, attempt);
    } catch (error) {
      if (error instanceof StoreUnavailableError && error.answered) throw error;
      this.reset(key);
      throw error;
    }
    this.reset(key);
  }
}

/** What a key has used in this process that the store can be charged with. */
function usage(past: MemoryStore, key: string, { rule, localRule }: Counted): Attempt[] {
  if (rule.quota.unit !== 'requests') return [];
  const remaining = (asked: string) =>
    past.consume([{ rule: localRule, key: asked, cost: 0 }]).verdicts[0]!.remaining;
  const cost = remaining('') - remaining(key);
  return cost > 0 ? [{ rule, key, cost }] : [];
}

async function charge(store: Store, attempt: Attempt): Promise<void> {
  const { verdicts } = await store.consume([attempt]);
  const { outcome, remaining } = verdicts[0]!;
  if (outcome === 'denied' && remaining > 0) await store.consume([{ ...attempt, cost: remaining }]);
}
