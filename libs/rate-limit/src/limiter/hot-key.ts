import type { Rule } from '../algorithms/index.js';
import type { AllowedVerdict, Verdict } from '../decision/decision.js';
import type { Answer, Attempt } from '../storage/store.js';
import { flow, isBucket, Slice, type Times } from './slice.js';

/** How a policy's hot keys are sliced. */
export interface Slicing {
  /** Of the full limit: how much one slice is at the most. Above 0, up to 0.5. */
  readonly share: number;
  /** For how long a slice can be spent. */
  readonly forMs: number;
}

/** Slices in the time of one: so what is left over is at most this part of what was asked for in that time. */
const SLICES_AT_A_TIME = 4;

/** Slices of a key that still have something, with costs that do not fit into what is left of one. */
const MOST_SLICES = 4;

/** A slice of a bucket that can be spent for less than this is not worth taking: time counts in whole milliseconds. */
const SHORTEST_MS = 2;

/** Who waits for a slice. */
export interface Waiting {
  readonly attempt: Attempt;
  readonly resolve: (answer: Answer | Error | Promise<Answer | Error>) => void;
}

/** What was spent of a slice. */
export interface Spent {
  readonly hot: HotKey;
  readonly slice: Slice;
  readonly verdict: AllowedVerdict;
}

/** What this process knows of a key for which it has been asked lately. */
export class HotKey {
  slices: Slice[] = [];
  waiting: Waiting[] = [];
  /** While a slice is on its way. */
  refilling: Promise<void> | undefined;
  /** What is left of its slices is given back, or nothing is, as the key has begun anew. */
  ended: 'no' | 'given back' | 'forgotten' = 'no';
  /** What came back to the key before its time, while a slice was on its way. */
  refundedMeanwhile = 0;
  readonly #most: number;
  #usedAt = -Infinity;
  #since = 0;
  #before = 0;
  #current = 0;
  /** What the store had left, and when it was asked. */
  #known: { readonly verdict: Verdict; readonly askedAt: number } | undefined;

  constructor(
    readonly key: string,
    readonly rule: Rule,
    readonly slicing: Slicing,
  ) {
    const unused = Array.from({ length: rule.readings }, () => 0);
    this.#most = Math.floor(rule.allowed(unused, 0).remaining * slicing.share);
  }

  /** Whether it was not asked for lately. */
  isCold(now: number): boolean {
    return now < this.#usedAt || now - this.#usedAt >= this.slicing.forMs;
  }

  /** It is asked for. */
  use(cost: number, now: number): void {
    const { forMs } = this.slicing;
    const passed = now - this.#since;
    if (passed < 0 || passed >= 2 * forMs) {
      [this.#since, this.#before, this.#current] = [now, 0, 0];
    } else if (passed >= forMs) {
      [this.#since, this.#before, this.#current] = [this.#since + forMs, this.#current, 0];
    }
    this.#current += cost;
    this.#usedAt = now;
  }

  /** Takes from a slice that has enough. */
  spend(cost: number, now: number): Spent | undefined {
    for (const slice of this.slices) {
      const verdict = slice.spend(cost, now);
      if (verdict !== undefined) return { hot: this, slice, verdict };
    }
    return undefined;
  }

  /** Serves those who have come while a slice was on its way, as far as it goes. */
  serve(now: number): void {
    this.waiting = this.waiting.filter(({ attempt, resolve }) => {
      const spent = this.spend(attempt.cost, now);
      if (spent !== undefined) resolve({ at: spent.slice.at, verdicts: [spent.verdict] });
      return spent === undefined;
    });
  }

  /** How much to ask for now, for those who wait and for who will come; 0 where it is not worth it. */
  amount(now: number): number {
    const asked = this.waiting.reduce((sum, { attempt }) => sum + attempt.cost, 0);
    // Half of what is left, so that the others find something as well, and slices become small before it is gone.
    const most = Math.min(this.#most, Math.floor(this.#remaining(now) / 2));
    return Math.min(most, Math.max(asked, this.#ahead(now)));
  }

  /** What the store said last. */
  note(verdict: Verdict, askedAt: number): void {
    this.#known = { verdict, askedAt };
  }

  /** @param times when it was taken */
  taken(amount: number, verdict: AllowedVerdict, times: Times): Slice {
    const slice = new Slice(this.rule, verdict, amount, times, this.slicing.forMs);
    slice.refunded(this.refundedMeanwhile);
    return slice;
  }

  /** Takes away the slices that have ended, those that are empty, and the oldest where there are too many. */
  removeOver(now: number): Slice[] {
    const stays = (slice: Slice, index: number, all: readonly Slice[]) =>
      this.ended === 'no' &&
      !slice.isOver(now) &&
      (slice.left > 0 || slice.held > 0) &&
      index >= all.length - MOST_SLICES;
    if (this.slices.every(stays)) return [];
    const over = this.slices.filter((slice, index, all) => !stays(slice, index, all));
    this.slices = this.slices.filter(stays);
    return over;
  }

  refunded(amount: number): void {
    this.refundedMeanwhile += amount;
    for (const slice of this.slices) slice.refunded(amount);
  }

  /** How much to have for those who will come. */
  #ahead(now: number): number {
    const passed = Math.min(1, Math.max(0, (now - this.#since) / this.slicing.forMs));
    const pace = this.#current + this.#before * (1 - passed);
    const ahead = Math.floor(pace / SLICES_AT_A_TIME);
    if (!isBucket(this.rule)) return ahead;
    // A bucket that is full again at once has no room for what is not spent at once.
    const { verdict, askedAt } = this.#known ?? { verdict: { resetMs: 0 }, askedAt: now };
    const roomMs = Math.max(0, verdict.resetMs - (now - askedAt)) + ahead / flow(this.rule, 1);
    return roomMs < SHORTEST_MS ? 0 : ahead;
  }

  /** What the store still has, as far as this process knows. */
  #remaining(now: number): number {
    if (this.#known === undefined) return Infinity;
    const { verdict, askedAt } = this.#known;
    const passed = now - askedAt;
    if (passed < 0 || passed >= verdict.resetMs) return Infinity;
    return verdict.remaining + (isBucket(this.rule) ? flow(this.rule, passed) : 0);
  }
}
