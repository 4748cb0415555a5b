import type { Step } from '../../algorithms/algorithm.js';
import { type Clock, systemClock } from '../../decision/clock.js';
import type { Answer, Attempt, Store } from '../store.js';
import { toVerdicts } from '../verdicts.js';

interface Entry {
  state: unknown;
  expiresAt: number;
}

/** Below this many keys it is not worth looking for expired ones. */
const SWEEP_ABOVE = 1_000;

/** Entries looked at for each new one: two, so that sweeping is faster than growing. */
const SWEEP_STEP = 2;

/**
 * State in this process. Expired entries are swept a few at a time whenever a key is new, so there is no timer and no
 * pause.
 *
 * @example
 * const store = new MemoryStore(() => testClock.now);
 */
export class MemoryStore implements Store {
  readonly name = 'memory';
  readonly place = 'the memory of this process';
  readonly #entries = new Map<string, Entry>();
  #sweep = this.#entries.entries();

  constructor(private readonly clock: Clock = systemClock) {}

  open(): void {
    // Nothing to connect.
  }

  consume(attempts: readonly Attempt[]): Answer {
    const now = this.clock();
    // An expired state is handed to the step as it is: a step answers alike with it and without it.
    const steps = attempts.map((attempt) =>
      attempt.rule.step(this.#entries.get(attempt.key)?.state, now, attempt),
    );
    const passed = steps.every(({ allowed }) => allowed);
    for (let index = 0; index < steps.length; index += 1) {
      const step = steps[index]!;
      if (passed || !step.allowed) this.#keep(attempts[index]!.key, step, now);
    }
    return { at: now, verdicts: toVerdicts(attempts, steps) };
  }

  reset(key: string): void {
    this.#entries.delete(key);
  }

  close(): void {
    this.#entries.clear();
  }

  /** How many keys are held, expired ones that were not swept yet included. */
  get size(): number {
    return this.#entries.size;
  }

  #keep(key: string, { allowed, state, ttlMs }: Step<unknown>, now: number): void {
    const entry = this.#entries.get(key);
    if (state === undefined) {
      // Where a longer window denies, what is kept has to outlive the wait that it promises.
      if (!allowed && entry !== undefined) entry.expiresAt = Math.max(entry.expiresAt, now + ttlMs);
      return;
    }
    if (ttlMs === 0) {
      this.#entries.delete(key);
    } else if (entry !== undefined) {
      entry.state = state;
      entry.expiresAt = now + ttlMs;
    } else {
      this.#entries.set(key, { state, expiresAt: now + ttlMs });
      if (this.#entries.size > SWEEP_ABOVE) this.#sweepSome(now);
    }
  }

  #sweepSome(now: number): void {
    for (let looked = 0; looked < SWEEP_STEP; looked += 1) {
      const next = this.#sweep.next();
      if (next.done) {
        this.#sweep = this.#entries.entries();
        return;
      }
      const [key, { expiresAt }] = next.value;
      if (expiresAt <= now) this.#entries.delete(key);
    }
  }
}
