import { type Bounds, clamp, type Estimate, firstEstimate, nextEstimate } from './gradient.js';

/** How work ended that held places. */
export type WorkResult = 'success' | 'failure' | 'abandoned';

/** Work that is under way. */
export interface Work {
  /** Once: what comes after it changes nothing. */
  end(result: WorkResult, now: number): void;
  /** It never was any. */
  leave(): void;
}

/** A measurement is of so long, in milliseconds, and of so much work, at least. */
const WINDOW_MS = 1_000;
const LEAST_WORK = 10;

/** Refused so many times in a row while nothing is under way here, an instance believes what the others found out. */
const STARVED = 10;

/**
 * Finds out how many at once a policy's work can bear, by how long it takes. One for each policy in each process.
 *
 * What is measured is measured here, and what is in use is counted by the store: of all instances together.
 */
export class Estimator {
  #estimate: Estimate;
  #underWay = 0;
  #refusedInARow = 0;
  #mostInUse = 0;
  /** The window that is being measured. */
  #begunAt: number | undefined;
  #ended = 0;
  #tookMs = 0;

  constructor(private readonly bounds: Bounds) {
    this.#estimate = firstEstimate(bounds);
  }

  /** How many at once, now. */
  get limit(): number {
    return Math.floor(this.#estimate.limit);
  }

  /** A place was free. @param inUse how many places are in use with it, everywhere */
  allowed(inUse: number): void {
    this.#refusedInARow = 0;
    this.#mostInUse = Math.max(this.#mostInUse, inUse);
  }

  /**
   * No place was free. Instances with a higher limit leave none to one with a lower limit, which then measures nothing
   * and would stay where it is, as one that has just started: it begins where they are.
   */
  refused(inUse: number): void {
    this.#mostInUse = Math.max(this.#mostInUse, inUse);
    if (this.#underWay > 0) return;
    this.#refusedInARow += 1;
    if (this.#refusedInARow < STARVED || inUse <= this.limit) return;
    this.#refusedInARow = 0;
    this.#estimate = { ...this.#estimate, limit: clamp(inUse, this.bounds) };
  }

  /** @param now in milliseconds, whole or not */
  begin(now: number): Work {
    let isOver = false;
    this.#underWay += 1;
    const over = () => {
      if (isOver) return false;
      isOver = true;
      this.#underWay -= 1;
      return true;
    };
    return {
      end: (result, endedAt) => {
        if (over()) this.#ends(result, Math.max(0, endedAt - now), endedAt);
      },
      leave: () => void over(),
    };
  }

  /**
   * Whoever hangs up says nothing of the backend. What fails may fail at once, and must not raise the limit; but what
   * takes long and fails, as a time-out does, is what an overload looks like.
   */
  #ends(result: WorkResult, tookMs: number, now: number): void {
    if (result === 'abandoned') return;
    if (result === 'failure' && !(tookMs > (this.#estimate.longMs ?? Infinity))) return;
    // Only a clock that was handed in steps back.
    if (this.#begunAt === undefined || now < this.#begunAt) this.#begunAt = now - tookMs;
    this.#ended += 1;
    this.#tookMs += tookMs;
    if (this.#ended < LEAST_WORK || now - this.#begunAt < WINDOW_MS) return;
    const measured = { averageMs: this.#tookMs / this.#ended, inUse: this.#mostInUse };
    this.#estimate = nextEstimate(this.#estimate, measured, this.bounds);
    this.#begunAt = now;
    this.#ended = 0;
    this.#tookMs = 0;
    this.#mostInUse = this.#underWay;
  }
}
