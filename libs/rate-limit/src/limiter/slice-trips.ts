import type { Clock } from '../decision/clock.js';
import type { Answer, Attempt } from '../storage/store.js';
import type { HotKey, Waiting } from './hot-key.js';
import type { Slice, Times } from './slice.js';

/** What a store decided, or why it did not. */
export type Asked = Answer | Error | Promise<Answer | Error>;

export interface TripOptions {
  readonly ask: (attempts: readonly Attempt[]) => Asked;
  /** Gives back what nobody spent. May fail: a window ends, and what was taken in it is back. */
  readonly giveBack: (attempt: Attempt) => Promise<unknown>;
  /** Milliseconds that never go back, whole or not. */
  readonly clock: Clock;
}

/** What is asked of the store for hot keys: slices, and what is given back of them. */
export class SliceTrips {
  constructor(private readonly options: TripOptions) {}

  /** Asks for slices of a key as long as there are some who wait for one; one at a time. */
  refill(hot: HotKey): void {
    hot.refilling ??= this.#refill(hot);
  }

  /** Gives back what is left of slices whose time is over. */
  async giveBackOver(hot: HotKey, now: number): Promise<void> {
    const over = hot.removeOver(now);
    if (over.length === 0) return;
    const given = over.map((slice) => {
      const left = slice.end();
      return left > 0 && hot.ended !== 'forgotten' ? this.giveBack(hot, slice, left) : undefined;
    });
    await Promise.all(given);
  }

  async giveBack({ key, rule }: HotKey, { at }: Slice, amount: number): Promise<void> {
    try {
      await this.options.giveBack({ rule, key, cost: -amount, at });
    } catch {
      // It comes back by itself when the window ends.
    }
  }

  async #refill(hot: HotKey): Promise<void> {
    do await this.#takeSlice(hot);
    while (hot.waiting.length > 0);
    // At once: whoever came between the last look and this would wait for nobody.
    hot.refilling = undefined;
  }

  async #takeSlice(hot: HotKey): Promise<void> {
    const askedAt = this.options.clock();
    const amount = hot.amount(askedAt);
    const waiting = hot.waiting;
    hot.waiting = [];
    hot.refundedMeanwhile = 0;
    const fit = countThatFit(waiting, amount);
    const covered = waiting.slice(0, fit);
    const isWorthIt = amount > 0 && (fit > 0 || waiting.length === 0);
    const answer = isWorthIt ? this.options.ask([{ key: hot.key, rule: hot.rule, cost: amount }]) : undefined;
    for (const one of waiting.slice(fit)) this.#askAlone(hot, one);
    if (answer === undefined) return;
    const decided = await answer;
    if (decided instanceof Error) {
      for (const { resolve } of covered) resolve(decided);
    } else {
      this.#arrived(hot, covered, amount, decided, askedAt);
    }
  }

  /** @param covered who is served with it, in their order */
  #arrived(hot: HotKey, covered: readonly Waiting[], amount: number, answer: Answer, askedAt: number): void {
    const verdict = answer.verdicts[0]!;
    hot.note(verdict, askedAt);
    if (verdict.outcome === 'denied') {
      // Of one alone it is the answer; of several, each has one of its own.
      if (covered.length === 1 && covered[0]!.attempt.cost === amount) covered[0]!.resolve(answer);
      else for (const one of covered) this.#askAlone(hot, one);
      return;
    }
    const { at } = answer;
    const times: Times = { at, askedAt, answeredAt: this.options.clock() };
    const slice = hot.taken(amount, verdict, times);
    for (const { attempt, resolve } of covered) {
      resolve({ at, verdicts: [slice.spendAsked(attempt.cost, times.answeredAt)] });
    }
    if (slice.left > 0) hot.slices.push(slice);
    hot.serve(times.answeredAt);
    void this.giveBackOver(hot, times.answeredAt);
  }

  #askAlone(hot: HotKey, { attempt, resolve }: Waiting): void {
    const askedAt = this.options.clock();
    const note = (answer: Answer | Error) => {
      if (!(answer instanceof Error)) hot.note(answer.verdicts[0]!, askedAt);
      return answer;
    };
    const answer = this.options.ask([attempt]);
    resolve(answer instanceof Promise ? answer.then(note) : note(answer));
  }
}

/** How many of those who wait, in their order, are served with so much. */
function countThatFit(waiting: readonly Waiting[], amount: number): number {
  let left = amount;
  const first = waiting.findIndex(({ attempt: { cost } }) => (left -= cost) < 0);
  return first === -1 ? waiting.length : first;
}
