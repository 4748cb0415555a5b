import type { Rule } from '../algorithms/index.js';
import { type Clock, systemClock } from '../decision/clock.js';
import { MemoryStore } from '../storage/memory/memory-store.js';
import type { Answer, Attempt, Store } from '../storage/store.js';

/** As many keys are handed over after an outage, at the most: those that were first asked about. */
const MOST_KEYS = 10_000;

/** As many keys are counted here, at the most: some 20 MB. */
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
   * the store has left for a key is charged as what is left. Stops, and forgets the rest, when the store fails again:
   * what may have been charged is not charged a second time.
   *
   * Places of a concurrency policy are not handed over: they are released where they were taken.
   *
   * @param answers whether the store answers for a key; the others stay here
   */
  async handOver(store: Store, answers: (key: string) => boolean): Promise<void> {
    const counted = [...this.#counted].filter(([key]) => answers(key));
    for (const [key] of counted) this.#counted.delete(key);
    const past = this.#store;
    if (this.#counted.size === 0) this.#store = new MemoryStore(this.clock, MOST_CLIENTS);
    for (let index = 0; index < counted.length; index += AT_A_TIME) {
      const some = counted.slice(index, index + AT_A_TIME);
      const used = some.flatMap(([key, rules]) => usage(past, key, rules));
      for (const [key] of some) past.reset(key);
      await Promise.all(used.map((attempt) => charge(store, attempt)));
    }
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
