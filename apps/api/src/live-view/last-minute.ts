const SECONDS = 60;

/** Counts of things by name, of the last second that is over and of the last minute. */
export class LastMinute<Name extends string> {
  /** Of each name, a place for each second of a minute. */
  readonly #counts = new Map<Name, number[]>();
  #second = 0;

  add(name: Name): void {
    let counts = this.#counts.get(name);
    if (counts === undefined) this.#counts.set(name, (counts = Array.from({ length: SECONDS }, () => 0)));
    counts[this.#second]! += 1;
  }

  /** A second is over. */
  tick(): void {
    this.#second = (this.#second + 1) % SECONDS;
    for (const counts of this.#counts.values()) counts[this.#second] = 0;
  }

  lastSecond(name: Name): number {
    return this.#counts.get(name)?.at(this.#second - 1) ?? 0;
  }

  lastMinute(name: Name): number {
    return this.#counts.get(name)?.reduce((sum, count) => sum + count, 0) ?? 0;
  }

  names(): Name[] {
    return [...this.#counts.keys()];
  }
}
