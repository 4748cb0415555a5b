import type { Clock } from '../decision/clock.js';
import type { Answer, Attempt } from '../storage/store.js';
import { passes } from '../storage/verdicts.js';
import { HotKey, type Slicing, type Spent } from './hot-key.js';
import { isBucket } from './slice.js';
import { type Asked, SliceTrips, type TripOptions } from './slice-trips.js';

/** How many keys are watched at a time. */
const MOST_KEYS = 1_000;

/** Keys looked at for each new one, oldest first. */
const SWEEP_STEP = 2;

const SWEEP_EVERY_MS = 25;

/** An attempt of a policy that may have slices. */
export interface SliceableAttempt extends Attempt {
  readonly policy: { readonly slice?: Slicing | undefined };
}

export interface SlicesOptions extends Omit<TripOptions, 'clock'> {
  readonly clock?: Clock | undefined;
  readonly mostKeys?: number;
}

/**
 * Hot keys: a process takes a slice of such a key's limit in one call to the store, spends it itself and gives back what
 * is left. Never more is allowed than without (docs/adr/0007-slices-of-hot-keys.md).
 *
 * A key is hot when it was asked for before within the time of a slice; any other is asked for as without this. One
 * slice of a key is on its way at a time. Who comes meanwhile waits for it; who does not find enough in it either is
 * asked for in the next one, or alone.
 */
export class Slices {
  readonly #keys = new Map<string, HotKey>();
  readonly #ask: TripOptions['ask'];
  readonly #trips: SliceTrips;
  readonly #clock: Clock;
  readonly #mostKeys: number;
  #timer: NodeJS.Timeout | undefined;

  constructor({ ask, giveBack, clock, mostKeys = MOST_KEYS }: SlicesOptions) {
    this.#ask = ask;
    this.#clock = clock ?? (() => performance.now());
    this.#trips = new SliceTrips({ ask, giveBack, clock: this.#clock });
    this.#mostKeys = mostKeys;
  }

  /** How many keys are watched. */
  get size(): number {
    return this.#keys.size;
  }

  /** All or nothing, as a store decides. At once where all of it is here. */
  decide(attempts: readonly SliceableAttempt[]): Asked {
    if (attempts.length === 1) {
      const hot = this.#hot(attempts[0]!);
      return hot === undefined ? this.#ask(attempts) : this.#one(hot, attempts[0]!);
    }
    const hot = attempts.map((attempt) => this.#hot(attempt));
    return hot.every((one) => one === undefined) ? this.#ask(attempts) : this.#several(attempts, hot);
  }

  /** So much is given back to a key: what it flows back to is fuller than its slices know. */
  refunded(key: string, amount: number): void {
    this.#keys.get(key)?.refunded(amount);
  }

  /** A key begins anew: nothing of it is here any more. */
  forget(key: string): void {
    const hot = this.#keys.get(key);
    if (hot === undefined) return;
    this.#keys.delete(key);
    hot.ended = 'forgotten';
    void this.#trips.giveBackOver(hot, this.#clock());
  }

  /** Gives back what was not spent in time, and lets go of keys that nobody asks for. */
  async sweep(): Promise<void> {
    const now = this.#clock();
    const given = [...this.#keys.values()].map((hot) => {
      if (hot.isCold(now) && hot.refilling === undefined && hot.slices.every((slice) => slice.isOver(now))) {
        this.#keys.delete(hot.key);
        hot.ended = 'given back';
      }
      return this.#trips.giveBackOver(hot, now);
    });
    if (this.#keys.size === 0) this.#stop();
    await Promise.all(given);
  }

  /** Gives back everything, also what is still on its way. It takes as long as the store takes to answer. */
  async close(): Promise<void> {
    this.#stop();
    const given = [...this.#keys.values()].map(async (hot) => {
      await hot.refilling;
      await this.#end(hot);
    });
    await Promise.all(given);
  }

  /** The key of an attempt, if it is hot. If not, it may be from now on. */
  #hot({ key, rule, cost, renew, shadow, policy: { slice: slicing } }: SliceableAttempt): HotKey | undefined {
    if (slicing === undefined || cost <= 0 || renew === true || shadow === true) return undefined;
    const now = this.#clock();
    let hot = this.#keys.get(key);
    if (hot !== undefined && hot.rule !== rule) {
      void this.#end(hot);
      hot = undefined;
    }
    const wasCold = hot === undefined || hot.isCold(now);
    if (hot === undefined) {
      if (!this.#makeRoom(now)) return undefined;
      hot = new HotKey(key, rule, slicing);
      this.#keys.set(key, hot);
      this.#start();
    }
    hot.use(cost, now);
    if (hot.slices.length > 0) void this.#trips.giveBackOver(hot, now);
    return wasCold ? undefined : hot;
  }

  #one(hot: HotKey, attempt: Attempt): Asked {
    const spent = hot.spend(attempt.cost, this.#clock());
    if (spent !== undefined) return { at: spent.slice.at, verdicts: [spent.verdict] };
    return new Promise((resolve) => {
      hot.waiting.push({ attempt, resolve });
      this.#trips.refill(hot);
    });
  }

  /** What is here is spent, the rest is asked for; what was spent is put back where that is denied. */
  #several(attempts: readonly Attempt[], keys: readonly (HotKey | undefined)[]): Asked {
    const now = this.#clock();
    const spent = keys.map((hot, index) => hot?.spend(attempts[index]!.cost, now));
    for (const one of spent) if (one !== undefined) one.slice.held += 1;
    const others = attempts.filter((_, index) => spent[index] === undefined);
    const answer = others.length === 0 ? { at: Infinity, verdicts: [] } : this.#ask(others);
    for (const [index, hot] of keys.entries()) {
      if (hot !== undefined && spent[index] === undefined) this.#trips.refill(hot);
    }
    if (others.length === attempts.length) return answer;
    if (!(answer instanceof Promise)) return this.#together(attempts, others, spent, answer);
    return answer.then((decided) => this.#together(attempts, others, spent, decided));
  }

  #together(
    attempts: readonly Attempt[],
    others: readonly Attempt[],
    spent: readonly (Spent | undefined)[],
    answer: Answer | Error,
  ): Answer | Error {
    const passed = !(answer instanceof Error) && passes(others, answer.verdicts);
    for (const [index, one] of spent.entries()) {
      if (one === undefined) continue;
      one.slice.held -= 1;
      if (!passed) this.#putBack(attempts[index]!, one);
    }
    if (answer instanceof Error) return answer;
    const asked = answer.verdicts.values();
    const now = this.#clock();
    const verdicts = spent.map((one) => {
      if (one === undefined) return asked.next().value!;
      return passed ? one.verdict : one.slice.look(now);
    });
    if (!passed) return { at: answer.at, verdicts };
    // What was taken at different times is given back as if it were taken at the first: that is never too much.
    const at = spent.reduce((first, one) => Math.min(first, one?.slice.at ?? first), answer.at);
    return { at, verdicts };
  }

  #putBack({ cost }: Attempt, { hot, slice }: Spent): void {
    if (!slice.hasEnded) slice.left += cost;
    else if (hot.ended !== 'forgotten' && !isBucket(slice.rule)) void this.#trips.giveBack(hot, slice, cost);
  }

  #end(hot: HotKey): Promise<void> {
    if (this.#keys.get(hot.key) === hot) this.#keys.delete(hot.key);
    hot.ended = 'given back';
    return this.#trips.giveBackOver(hot, this.#clock());
  }

  /** Hot keys stay: a flood of others finds no place, and is asked for as without slices. */
  #makeRoom(now: number): boolean {
    if (this.#keys.size < this.#mostKeys) return true;
    let looked = 0;
    for (const [key, hot] of this.#keys) {
      this.#keys.delete(key);
      if (hot.isCold(now) && hot.refilling === undefined) {
        void this.#end(hot);
        return true;
      }
      this.#keys.set(key, hot);
      looked += 1;
      if (looked === SWEEP_STEP) return false;
    }
    return false;
  }

  #start(): void {
    this.#timer ??= setInterval(() => void this.sweep(), SWEEP_EVERY_MS).unref();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
