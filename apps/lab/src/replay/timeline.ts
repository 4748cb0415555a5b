const MINUTE = 60_000;

/** So many bars at the most, and half as many at least, once the log is long enough. */
const MOST_BARS = 120;
const FIRST_WIDTH_MS = 1_000;

/** What happened in a stretch of time. */
export interface Bar {
  /** When it begins, in milliseconds since 1970. */
  readonly from: number;
  readonly requests: number;
  /** By the policies, in their order. */
  readonly refused: readonly number[];
}

/**
 * Counts over a time of which nobody knows how long it will be: where the bars do not suffice, every two become one.
 * Exact, as nothing is ever divided. Times never go back.
 */
export class Timeline {
  #start = NaN;
  #width = FIRST_WIDTH_MS;
  #index = 0;
  #requests = new Float64Array(MOST_BARS);
  readonly #refused: Float64Array[];

  constructor(policies: number) {
    this.#refused = Array.from({ length: policies }, () => new Float64Array(MOST_BARS));
  }

  /** A request came. */
  add(at: number): void {
    if (Number.isNaN(this.#start)) this.#start = at - (at % FIRST_WIDTH_MS);
    let index = Math.floor((at - this.#start) / this.#width);
    while (index >= MOST_BARS) {
      this.#halve();
      index = Math.floor((at - this.#start) / this.#width);
    }
    this.#index = index;
    this.#requests[index]! += 1;
  }

  /** A policy refuses the request that came last. */
  refuse(policy: number): void {
    this.#refused[policy]![this.#index]! += 1;
  }

  get width(): number {
    return this.#width;
  }

  /** From the first request to the last. */
  bars(): Bar[] {
    if (Number.isNaN(this.#start)) return [];
    return Array.from({ length: this.#index + 1 }, (_, index) => ({
      from: this.#start + index * this.#width,
      requests: this.#requests[index]!,
      refused: this.#refused.map((counts) => counts[index]!),
    }));
  }

  #halve(): void {
    this.#width *= 2;
    for (const counts of [this.#requests, ...this.#refused]) {
      for (let index = 0; index < MOST_BARS / 2; index += 1) {
        counts[index] = counts[2 * index]! + counts[2 * index + 1]!;
      }
      counts.fill(0, MOST_BARS / 2);
    }
  }
}

/** The minute of the clock in which most was counted; of several, the first. Times never go back. */
export class WorstMinute {
  #minute = -1;
  #count = 0;
  #worst = { at: 0, refused: 0 };

  add(at: number): void {
    const minute = at - (at % MINUTE);
    if (minute !== this.#minute) [this.#minute, this.#count] = [minute, 0];
    this.#count += 1;
    if (this.#count > this.#worst.refused) this.#worst = { at: minute, refused: this.#count };
  }

  /** `undefined` where nothing was counted. */
  get worst(): { readonly at: number; readonly refused: number } | undefined {
    return this.#worst.refused === 0 ? undefined : this.#worst;
  }
}
