import type { Rule } from '../algorithms/index.js';
import { type Clock, systemClock } from '../decision/clock.js';
import { MemoryStore } from '../storage/memory/memory-store.js';
import type { Answer, Attempt, Store } from '../storage/store.js';

/** As many keys are handed over after an outage, at the most: those that were first asked about. */
const MOST_KEYS = 10_000;

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
    this.#store = new MemoryStore(clock);
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
   * the store has left for a key is charged as what is left. Stops, and forgets the rest, when the store fails again:
   * what may have been charged is not charged a second time.
   *
   * Places of a concurrency policy are not handed over: they are released where they were taken.
   */
  async handOver(store: Store): Promise<void> {
    const used = [...this.#counted].flatMap(([key, { rule, localRule }]): Attempt[] => {
      const cost = rule.quota.unit === 'requests' ? this.#used(key, localRule) : 0;
      return cost > 0 ? [{ rule, key, cost }] : [];
    });
    this.#counted.clear();
    this.#store = new MemoryStore(this.clock);
    for (let index = 0; index < used.length; index += AT_A_TIME) {
      await Promise.all(used.slice(index, index + AT_A_TIME).map((attempt) => charge(store, attempt)));
    }
  }

  #used(key: string, rule: Rule): number {
    const remaining = (asked: string) =>
      this.#store.consume([{ rule, key: asked, cost: 0 }]).verdicts[0]!.remaining;
    return remaining('') - remaining(key);
  }
}

async function charge(store: Store, attempt: Attempt): Promise<void> {
  const { verdicts } = await store.consume([attempt]);
  const { outcome, remaining } = verdicts[0]!;
  if (outcome === 'denied' && remaining > 0) await store.consume([{ ...attempt, cost: remaining }]);
}
