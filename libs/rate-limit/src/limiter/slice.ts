import type { Rule } from '../algorithms/index.js';
import type { AllowedVerdict } from '../decision/decision.js';

/** When something was asked for, decided and answered. */
export interface Times {
  /** When the store decided, in milliseconds since 1970 by its clock. */
  readonly at: number;
  /** By this process's clock, which is no later than when it was decided. */
  readonly askedAt: number;
  readonly answeredAt: number;
}

/**
 * Part of a key's limit that this process has taken and spends itself.
 *
 * Of a window, it can be spent until the window ends. A bucket flows full again meanwhile, and what it holds and what
 * is unspent must never be more than its capacity: so no more can be spent than is still missing there, counted as
 * the least that it can be (docs/adr/0007-slices-of-hot-keys.md).
 */
export class Slice {
  readonly at: number;
  left: number;
  /** How many have spent of it and may still put it back. */
  held = 0;
  hasEnded = false;
  /** Tokens that are missing from the bucket when it was taken, at the least. Of a window: everything. */
  #missing: number;
  readonly #until: number;

  /**
   * @param verdict what the store said when it was taken
   * @param forMs for how long it can be spent at the most
   */
  constructor(
    readonly rule: Rule,
    private readonly verdict: AllowedVerdict,
    taken: number,
    private readonly times: Times,
    forMs: number,
  ) {
    this.at = times.at;
    this.left = taken;
    const bucket = isBucket(rule);
    this.#missing = bucket ? Math.max(taken, Math.floor(flow(rule, verdict.resetMs - 1))) : Infinity;
    this.#until = times.askedAt + (bucket ? forMs : Math.min(forMs, verdict.resetMs));
  }

  /** Whether nothing of it can be spent any more. Of the future, as seen from a clock that stepped back, nothing is known. */
  isOver(now: number): boolean {
    return this.hasEnded || now >= this.#until || now < this.times.answeredAt;
  }

  /** Takes from it, if it is there. */
  spend(cost: number, now: number): AllowedVerdict | undefined {
    if (this.isOver(now)) return undefined;
    // What has flowed in elsewhere is gone from here, and not only out of reach.
    this.left = Math.min(this.left, this.#spendable(now));
    return cost > this.left ? undefined : this.spendAsked(cost, now);
  }

  /** Takes from it what it was asked for: it was allowed then, as the store would have said it of each alone. */
  spendAsked(cost: number, now: number): AllowedVerdict {
    this.left -= cost;
    return this.look(now);
  }

  /** What is told now, of what is left here and was left in the store. */
  look(now: number): AllowedVerdict {
    const { outcome, delayMs, remaining, nextMs, resetMs } = this.verdict;
    const passed = now - this.times.answeredAt;
    const left = (milliseconds: number) => Math.max(1, Math.ceil(milliseconds - passed));
    return {
      outcome,
      delayMs,
      remaining: this.left + remaining,
      nextMs: left(nextMs),
      resetMs: left(resetMs),
    };
  }

  /** So much came back to the bucket before its time. */
  refunded(amount: number): void {
    this.#missing -= amount;
  }

  /**
   * Nothing is spent of it from now on.
   *
   * @returns how much is to be given back. Nothing of a bucket, as others that hold slices count on it being missing
   */
  end(): number {
    const left = this.hasEnded || isBucket(this.rule) ? 0 : this.left;
    this.hasEnded = true;
    return left;
  }

  /** What can be unspent now: the more has flowed in, the less. */
  #spendable(now: number): number {
    if (this.#missing === Infinity) return Infinity;
    const passed = Math.ceil(now - this.times.askedAt);
    return Math.max(0, this.#missing - Math.ceil(flow(this.rule, passed)));
  }
}

/** How many tokens flow in. */
export function flow({ quota: { limit, windowMs } }: Rule, milliseconds: number): number {
  return (limit * milliseconds) / windowMs!;
}

export function isBucket(rule: Rule): boolean {
  return rule.algorithm === 'token-bucket';
}
