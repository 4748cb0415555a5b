import type { Rule } from '../src/algorithms/index.js';
import type { Verdict } from '../src/decision/decision.js';
import type { Slicing } from '../src/limiter/hot-key.js';
import { Slices, type SliceableAttempt } from '../src/limiter/slices.js';
import { MemoryStore } from '../src/storage/memory/memory-store.js';
import type { Answer, Attempt } from '../src/storage/store.js';

/** When everything begins: a full second. */
export const START = 1_000_000_000_000;

/** What became of something that was asked for. */
export interface Outcome {
  readonly verdict: Verdict;
  readonly cost: number;
  /** When it was taken from the store. */
  readonly at: number;
  /** When it was spent: by the store when it decided, or here, later, of a slice. */
  readonly spentAt: number;
}

interface Asked {
  decide(): void;
  answer(): void;
}

/**
 * Several processes with slices before one store in memory, which answers in a later turn, or when it is told to. All of
 * them share a clock that the test moves.
 */
export class Fleet {
  static readonly MOST_KEYS = 100;
  now = START;
  /** How often the store was asked, and in how many turns. */
  calls = 0;
  trips = 0;
  /** Whether it does not answer. */
  down = false;
  /** Whether it takes its time, until it is told to go on. */
  holds = false;
  readonly store = new MemoryStore(() => this.now);
  readonly processes: readonly Slices[];
  #asked: Asked[] = [];
  #scheduled = false;

  constructor(
    count: number,
    readonly slicing: Slicing,
  ) {
    const options = {
      ask: (attempts: readonly Attempt[]) => this.#ask(attempts),
      giveBack: (attempt: Attempt) => Promise.resolve(this.store.consume([attempt])),
      clock: () => this.now,
      mostKeys: Fleet.MOST_KEYS,
    };
    this.processes = Array.from({ length: count }, () => new Slices(options));
  }

  /** Asks for something in a process. */
  async take(rule: Rule, key: string, cost = 1, process = 0): Promise<Outcome> {
    const arrived = this.now;
    const asked = this.#process(process).decide([this.#attempt(rule, key, cost)]);
    const waited = asked instanceof Promise;
    const answer = waited ? await asked : asked;
    if (answer instanceof Error) throw answer;
    const { at, verdicts } = answer;
    // Who was there when the store decided was decided by it; anybody else spends of a slice.
    return { verdict: verdicts[0]!, cost, at, spentAt: waited && arrived <= at ? at : this.now };
  }

  /** Asks for several in one request. `plain`: of a policy without slices. */
  async takeAll(asked: readonly (readonly [Rule, string, 'plain'?])[]): Promise<readonly Verdict[]> {
    const attempts = asked.map(([rule, key, plain]) => this.#attempt(rule, key, 1, plain));
    const answer = await this.processes[0]!.decide(attempts);
    if (answer instanceof Error) throw answer;
    return answer.verdicts;
  }

  /** Asks the store itself. */
  ask(rule: Rule, key: string, cost: number): Verdict {
    return this.store.consume([{ rule, key, cost }]).verdicts[0]!;
  }

  remaining(rule: Rule, key: string): number {
    return this.ask(rule, key, 0).remaining;
  }

  async sweep(): Promise<void> {
    await Promise.all(this.processes.map((one) => one.sweep()));
  }

  async close(): Promise<void> {
    this.release();
    await Promise.all(this.processes.map((one) => one.close()));
  }

  /** All that was asked so far is decided, and perhaps answered; what is asked later waits. */
  goes(how: 'holds' | 'decides' | 'answers'): void {
    this.holds = true;
    if (how === 'holds') return;
    for (const asked of this.#asked) asked.decide();
    if (how === 'decides') return;
    for (const asked of this.#asked.splice(0)) asked.answer();
  }

  /** It answers from now on. */
  release(): void {
    this.goes('answers');
    this.holds = false;
  }

  /** Whatever can happen without time going by has happened. */
  settle(): Promise<void> {
    return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  }

  turn(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  #process(index: number): Slices {
    return this.processes[index % this.processes.length]!;
  }

  #attempt(rule: Rule, key: string, cost: number, plain?: 'plain'): SliceableAttempt {
    return { rule, key, cost, policy: { slice: plain === undefined ? this.slicing : undefined } };
  }

  #ask(attempts: readonly Attempt[]): Promise<Answer | Error> {
    this.calls += 1;
    if (this.down) return Promise.resolve(new Error('down'));
    return new Promise((resolve) => {
      let answer: Answer | undefined;
      const decide = () => (answer ??= this.store.consume(attempts));
      this.#asked.push({ decide, answer: () => resolve(decide()) });
      if (this.holds || this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.trips += 1;
        if (!this.holds) for (const asked of this.#asked.splice(0)) asked.answer();
      });
    });
  }
}
