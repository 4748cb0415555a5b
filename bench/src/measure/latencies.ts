const MOST = 4_000_000;

/** Milliseconds, all of them kept: with bins, a difference of a tenth would be lost. */
export class Latencies {
  #values = new Float64Array(1 << 16);
  count = 0;

  add(milliseconds: number): void {
    if (this.count === MOST) throw new Error(`More than ${MOST} latencies`);
    if (this.count === this.#values.length) {
      const longer = new Float64Array(this.#values.length * 2);
      longer.set(this.#values);
      this.#values = longer;
    }
    this.#values[this.count] = milliseconds;
    this.count += 1;
  }

  quantile(share: number): number {
    const sorted = this.#values.slice(0, this.count).toSorted();
    return sorted[Math.min(this.count - 1, Math.floor(this.count * share))] ?? 0;
  }
}
