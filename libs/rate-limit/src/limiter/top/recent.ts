import type { Clock } from '../../decision/clock.js';
import { type Exported, HeavyHitters, isAmount, isExported, merge, type Merged } from './sketch.js';

export type Lately<T> = T & {
  /** How long that was, in milliseconds, at least 1; of several the longest. */
  readonly spanMs: number;
};

/**
 * Who asked for most lately, that is in between one and two windows: those that were current and before are merged when
 * they are read, and what is older is forgotten. A clock that steps back stands still for that long, and goes on from there.
 */
export class RecentHeavyHitters {
  #current: HeavyHitters;
  #before: HeavyHitters;
  /** Since it began, in milliseconds and in windows. */
  #passed = 0;
  #window = 0;
  #last: number;

  /**
   * @param size how many keys are exported at the most, and a quarter of how many are held
   * @param now milliseconds
   */
  constructor(
    private readonly size: number,
    private readonly windowMs: number,
    private readonly now: Clock = () => performance.now(),
  ) {
    this.#current = new HeavyHitters(size);
    this.#before = new HeavyHitters(size);
    this.#last = now();
  }

  add(...seen: Parameters<HeavyHitters['add']>): void {
    this.#turn();
    this.#current.add(...seen);
  }

  export(): Lately<Exported> {
    this.#turn();
    const both = new HeavyHitters(this.size);
    both.include(this.#before.export());
    both.include(this.#current.export());
    const since = Math.max(0, this.#window - 1) * this.windowMs;
    return { ...both.export(), spanMs: Math.max(1, Math.ceil(this.#passed - since)) };
  }

  #turn(): void {
    const now = this.now();
    this.#passed += Math.max(0, now - this.#last);
    this.#last = now;
    const window = Math.floor(this.#passed / this.windowMs);
    if (window === this.#window) return;
    this.#before = window === this.#window + 1 ? this.#current : new HeavyHitters(this.size);
    this.#current = new HeavyHitters(this.size);
    this.#window = window;
  }
}

/** Merges what processes have exported, the latest last; whatever is no such summary is left out. */
export function mergeLately(list: readonly unknown[], size: number): Lately<Merged> {
  const those = list.filter(isExportedLately);
  return { ...merge(those, size), spanMs: those.reduce((most, { spanMs }) => Math.max(most, spanMs), 1) };
}

function isExportedLately(value: unknown): value is Lately<Exported> {
  return isExported(value) && isAmount((value as { spanMs?: unknown }).spanMs);
}
