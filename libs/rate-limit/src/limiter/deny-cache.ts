import type { Rule } from '../algorithms/index.js';
import type { Clock } from '../decision/clock.js';
import type { DeniedVerdict } from '../decision/decision.js';
import type { Answer, Attempt } from '../storage/store.js';
import { passes } from '../storage/verdicts.js';

/** How many clients are held at the most: some 4 MB. */
const MOST_KEYS = 10_000;

/** Attempts of one key that are told apart: by their cost and by the numbers of the policy. */
const MOST_OF_KEY = 4;

/** How long the others are still refused while one has asked again: as long as an answer may take. */
const ASKING_MS = 50;

/** Keys looked at for each new one, oldest first: two, so that what has ended goes faster than new ones come. */
const SWEEP_STEP = 2;

/** One attempt that was denied. The same object for as long as nothing else is known of it. */
export interface Denial {
  readonly rule: Rule;
  readonly cost: number;
  readonly verdict: DeniedVerdict;
  /** When, by the store's clock, and when its answer was here, by this process's. */
  readonly at: number;
  readonly answeredAt: number;
  /** Until when nothing about it changes by itself, by this process's clock. */
  readonly until: number;
  /** From when somebody is to ask again, whether something else has changed it. */
  askAt: number;
}

/** Attempts that are known to be denied, and what they are told. */
export interface KnownDenials extends Answer {
  /** Which of the attempts that were asked about: at least one. */
  readonly indexes: readonly number[];
  readonly verdicts: readonly DeniedVerdict[];
}

/**
 * What a store has denied, for as long as it would deny it again: `retryAfterMs` is exact, so it need not be asked.
 *
 * An attempt is the same when key, numbers and cost are; of a greater cost the wait is another one, and is asked for once.
 * It is known until its numbers change by themselves, counted from when it was asked, which is before the store decided:
 * nobody is refused a moment longer than the store would. What others change, such as a refund in another process, is
 * seen when `mostMs` are over and one request has asked again for all that come meanwhile. Places that are held are given
 * back at any time, so they are not known at all. Who is in shadow is refused nothing.
 *
 * Nobody is freed by being forgotten here, as the store is asked then; so the oldest goes when it is full.
 */
export class DenyCache {
  readonly #denials = new Map<string, readonly Denial[]>();

  /**
   * @param mostMs how long a denial is known at the most
   * @param clock milliseconds that never go back, whole or not
   */
  constructor(
    private readonly mostMs: number,
    private readonly clock: Clock = () => performance.now(),
    private readonly mostKeys = MOST_KEYS,
  ) {}

  /** How many keys are held, those that have ended and were not swept yet included. */
  get size(): number {
    return this.#denials.size;
  }

  /** By the clock of this process; for `remember`, when a store is asked: it cannot decide before that. */
  now(): number {
    return this.clock();
  }

  /** The attempts that would be denied now; `undefined` if none is known to be. */
  find(attempts: readonly Attempt[]): KnownDenials | undefined {
    if (this.#denials.size === 0) return undefined;
    let at = 0;
    let verdicts: DeniedVerdict[] | undefined;
    let indexes: number[] | undefined;
    for (let index = 0; index < attempts.length; index += 1) {
      const { key, rule, cost, shadow } = attempts[index]!;
      if (shadow === true) continue;
      const now = this.clock();
      const denial = this.#denialOf(key, rule, cost, now);
      if (denial === undefined) continue;
      if (now >= denial.askAt) {
        denial.askAt = now + ASKING_MS;
        continue;
      }
      const passed = now - denial.answeredAt;
      at = Math.max(at, Math.floor(denial.at + passed));
      (indexes ??= []).push(index);
      (verdicts ??= []).push(later(denial.verdict, passed));
    }
    return indexes === undefined ? undefined : { at, indexes, verdicts: verdicts! };
  }

  /**
   * The same of one attempt, for whoever would not ask.
   *
   * @param now by `now()`
   */
  denialOf(key: string, rule: Rule, cost: number, now: number): Denial | undefined {
    const denial = this.#denialOf(key, rule, cost, now);
    return denial === undefined || now >= denial.askAt ? undefined : denial;
  }

  #denialOf(key: string, rule: Rule, cost: number, now: number): Denial | undefined {
    const denials = this.#denials.get(key);
    if (denials === undefined) return undefined;
    if (now < denials.at(-1)!.answeredAt) {
      // Only a clock that was handed in steps back. What is asked for by then may change what is known of later.
      this.#denials.delete(key);
      return undefined;
    }
    return denials.find((one) => one.rule === rule && one.cost === cost && now < one.until);
  }

  /** @param askedAt by `now()`. Left out: the answer came at once. */
  remember(attempts: readonly Attempt[], { at, verdicts }: Answer, askedAt?: number): void {
    for (let index = 0; index < verdicts.length; index += 1) {
      const verdict = verdicts[index]!;
      if (verdict.outcome === 'denied') this.#keep(attempts[index]!, verdict, at, askedAt);
    }
    if (this.#denials.size === 0 || !passes(attempts, verdicts)) return;
    // Whoever takes what is left makes the wait longer for those who asked for more.
    for (const { key, cost } of attempts) if (cost > 0) this.forget(key);
  }

  /** Something about the key has changed. */
  forget(key: string): void {
    this.#denials.delete(key);
  }

  #keep({ key, rule, cost, shadow }: Attempt, verdict: DeniedVerdict, at: number, askedAt?: number): void {
    if (rule.quota.unit === 'concurrent-requests' || shadow === true) return;
    // Refusals that lead to a penalty are counted where it is kept; while it lasts, none is.
    if (rule.penalty !== undefined && verdict.penaltyMs === undefined) return;
    const answeredAt = this.clock();
    const begin = askedAt ?? answeredAt;
    const until =
      begin + Math.min(verdict.nextMs > 0 ? verdict.nextMs : Infinity, verdict.penaltyMs ?? Infinity);
    const askAt = begin + this.mostMs;
    if (Math.min(until, askAt) <= answeredAt) return;
    const others = (this.#denials.get(key) ?? []).filter((one) => {
      return one.until > answeredAt && (one.rule !== rule || one.cost !== cost);
    });
    const denial: Denial = { rule, cost, verdict, at, answeredAt, until, askAt };
    // Anew, so that the order is that of age.
    this.#denials.delete(key);
    this.#denials.set(key, [...others.slice(1 - MOST_OF_KEY), denial]);
    this.#sweep(answeredAt);
  }

  #sweep(now: number): void {
    let looked = 0;
    for (const [key, denials] of this.#denials) {
      const ended = denials.every(({ until, askAt }) => until <= now || askAt + ASKING_MS <= now);
      if (!ended && this.#denials.size <= this.mostKeys) return;
      this.#denials.delete(key);
      looked += 1;
      if (looked === SWEEP_STEP) return;
    }
  }
}

/** What the same attempt is told so much later: rounded up, so that it is enough to wait for it. */
function later(verdict: DeniedVerdict, passed: number): DeniedVerdict {
  const { outcome, remaining, nextMs, resetMs, retryAfterMs, penaltyMs } = verdict;
  const left = (milliseconds: number) => Math.max(1, Math.ceil(milliseconds - passed));
  return {
    outcome,
    remaining,
    nextMs: nextMs === 0 ? 0 : left(nextMs),
    resetMs: resetMs === 0 ? 0 : left(resetMs),
    retryAfterMs: retryAfterMs === undefined ? undefined : left(retryAfterMs),
    ...(penaltyMs !== undefined && { penaltyMs: left(penaltyMs) }),
  };
}
