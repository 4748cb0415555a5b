/** What the last decision about a key said. */
export interface Seen {
  readonly limit: number;
  readonly remaining: number;
  readonly denied: boolean;
}

/** What is known of one key. */
export interface Hitter {
  readonly key: string;
  /** How many times its limit it asked for: too low by `error` at the most, never too high. */
  readonly asked: number;
  /** How many of its decisions were denied since it is known: none too many. */
  readonly denied: number;
  /** By the last decision. */
  readonly limit: number;
  readonly remaining: number;
}

interface Summary<T> {
  /** What all keys asked for, those included that are in no entry. */
  readonly total: number;
  /** How much is missing at the most from what any key asked for. */
  readonly error: number;
  readonly entries: readonly T[];
}

/** As it is sent to other processes, in JSON: key, asked, denied, limit, remaining. */
export type Exported = Summary<readonly [string, number, number, number, number]>;

/** Several in one: who asked for most comes first. */
export type Merged = Summary<Hitter>;

type Entry = { -readonly [Name in Exclude<keyof Hitter, 'key'>]: Hitter[Name] };

/**
 * Who asks for most, in bounded memory, whatever the keys are: a weighted Misra–Gries summary.
 *
 * Every key that asked for more than `error` is in it. Its `asked` is too low by `error` at the most, and never too high
 * (but for the rounding of sums). `error` is at most `total / (size + 1)`, as what is subtracted from one entry is
 * subtracted from at least `size` others too. The same holds of what is merged from others of this size or more.
 *
 * It is pruned when it holds twice its size, so at least `size` new keys pay for it.
 *
 * Sources: Misra, Gries: Finding repeated elements, 1982. Agarwal et al.: Mergeable summaries, PODS 2012.
 *
 * @example
 * const sketch = new HeavyHitters(1);
 * for (const key of ['ada', 'ada', 'ada', 'bob']) sketch.add(key, 0.25, { limit: 4, remaining: 1, denied: false });
 * sketch.export(); // { total: 1, error: 0.25, entries: [['ada', 0.5, 0, 4, 1]] }
 */
export class HeavyHitters {
  readonly #entries = new Map<string, Entry>();
  #total = 0;
  #error = 0;

  /** @param size how many entries are exported at the most, and half of how many are held */
  constructor(private readonly size: number) {}

  get total(): number {
    return this.#total;
  }

  /** The sum of what was subtracted. */
  get error(): number {
    return this.#error;
  }

  /** How many entries it holds: less than twice its size. */
  get held(): number {
    return this.#entries.size;
  }

  /**
   * @param asked cost ÷ limit, so that keys with different limits compare. What is not a finite number from 0 on is
   * ignored: one cost ÷ 0 would outweigh all the others for ever.
   */
  add(key: string, asked: number, { limit, remaining, denied }: Seen): void {
    if (!isAmount(asked)) return;
    this.#total += asked;
    this.#count(key, asked, denied ? 1 : 0, limit, remaining);
    if (this.#entries.size >= 2 * this.size) this.#prune();
  }

  /**
   * Adds what another one has seen; what that says of `limit` and `remaining` counts as the later. It is pruned with the
   * next `add` or `export` and not before, so that what is missing is the same in whichever order several are included.
   */
  include({ total, error, entries }: Exported): void {
    this.#total += total;
    this.#error += error;
    for (const [key, asked, denied, limit, remaining] of entries) {
      this.#count(key, asked, denied, limit, remaining);
    }
  }

  /** Prunes it to its size: no more than that is sent. */
  export(): Exported {
    this.#prune();
    const entries = Array.from(this.#entries, ([key, { asked, denied, limit, remaining }]) => {
      return [key, asked, denied, limit, remaining] as const;
    });
    return { total: this.#total, error: this.#error, entries };
  }

  #count(key: string, asked: number, denied: number, limit: number, remaining: number): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      entry.asked += asked;
      entry.denied += denied;
      entry.limit = limit;
      entry.remaining = remaining;
      return;
    }
    // Whoever only peeks takes no place from others.
    if (asked > 0) this.#entries.set(key, { asked, denied, limit, remaining });
  }

  #prune(): void {
    const held = this.#entries.size;
    if (held <= this.size) return;
    const weights = new Float64Array(held);
    let index = 0;
    for (const { asked } of this.#entries.values()) weights[index++] = asked;
    const cut = weights.toSorted()[held - 1 - this.size]!;
    this.#error += cut;
    for (const [key, entry] of this.#entries) {
      entry.asked -= cut;
      if (entry.asked <= 0) this.#entries.delete(key);
    }
  }
}

/**
 * Merges what processes have exported: `error` is the sum of theirs and of what merging subtracts.
 *
 * @param list what they sent, the latest last. Whatever is no summary is left out as a whole, as half of one would promise
 * what it does not keep.
 */
export function merge(list: readonly unknown[], size: number): Merged {
  const sketch = new HeavyHitters(size);
  for (const each of list) if (isExported(each)) sketch.include(each);
  const { entries, ...sums } = sketch.export();
  const hitters = entries.map(([key, asked, denied, limit, remaining]): Hitter => {
    return { key, asked, denied, limit, remaining };
  });
  return { ...sums, entries: hitters.toSorted((one, other) => other.asked - one.asked) };
}

/** Whether it has the shape of a summary. Other versions may write more than this one reads. */
export function isExported(value: unknown): value is Exported {
  if (typeof value !== 'object' || value === null) return false;
  const { total, error, entries } = value as { [Name in keyof Exported]?: unknown };
  return isAmount(total) && isAmount(error) && Array.isArray(entries) && [...entries].every(isEntry);
}

function isEntry(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const [key, asked, denied, limit, remaining] = value as unknown[];
  return typeof key === 'string' && [asked, denied, limit, remaining].every(isAmount);
}

/** Far above what can be asked for, which is sent on then, and low enough that no sum is infinite. */
const MOST = 1e100;

export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MOST;
}
