import type { Random } from './random.js';

/** Work that a backend was given. */
interface Job {
  readonly cameAt: number;
  readonly takesMs: number;
  /** The backend is done with it. */
  readonly done: () => Promise<void>;
}

/** Works on so many jobs at once, each for about as long, and lets the others queue, first come, first served. */
export class Backend {
  /** How many at once: what nobody tells the limiter. */
  capacity: number;
  readonly #queue: Job[] = [];
  #working: { readonly job: Job; readonly endsAt: number }[] = [];

  constructor(
    capacity: number,
    private readonly workMs: number,
    private readonly random: Random,
  ) {
    this.capacity = capacity;
  }

  accept(now: number, done: () => Promise<void>): void {
    // A fifth more or less.
    const takesMs = Math.round(this.workMs * (0.8 + 0.4 * this.random()));
    this.#queue.push({ cameAt: now, takesMs, done });
    this.#begin(now);
  }

  /** Ends what has ended by now. Answers how long each took, the time in the queue included. */
  async advance(now: number): Promise<number[]> {
    const ended = this.#working.filter(({ endsAt }) => endsAt <= now).map(({ job }) => job);
    if (ended.length === 0) return [];
    this.#working = this.#working.filter(({ endsAt }) => endsAt > now);
    for (const { done } of ended) await done();
    this.#begin(now);
    return ended.map(({ cameAt }) => now - cameAt);
  }

  #begin(now: number): void {
    while (this.#working.length < this.capacity) {
      const job = this.#queue.shift();
      if (job === undefined) return;
      this.#working.push({ job, endsAt: now + job.takesMs });
    }
  }
}
