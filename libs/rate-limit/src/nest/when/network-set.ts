import type { Network } from './parse-network.js';

/**
 * Networks in which to look addresses up, in the logarithm of their number: sorted tables outside the heap, with 8 bytes
 * for a network of IPv4 and 32 for one of IPv6.
 */
export class NetworkSet {
  readonly #ipv4: Ranges;
  readonly #ipv6: Ranges;

  constructor(networks: readonly Network[]) {
    const ofWidth = (width: number) => networks.filter(({ first }) => first.length === width);
    this.#ipv4 = new Ranges(2, ofWidth(2));
    this.#ipv6 = new Ranges(8, ofWidth(8));
  }

  /** @param address in groups of 16 bits: two of IPv4, eight of IPv6 */
  has(address: readonly number[]): boolean {
    return (address.length === 2 ? this.#ipv4 : this.#ipv6).has(address);
  }
}

/** A table of addresses, each of them a row. */
type Addresses = ArrayLike<number>;

/** Networks of one family, whose addresses are so many groups wide. */
class Ranges {
  readonly #firsts: Addresses;
  readonly #lasts: Addresses;

  constructor(
    private readonly width: number,
    networks: readonly Network[],
  ) {
    const firsts = tableOf(
      networks.map(({ first }) => first),
      width,
    );
    const lasts = tableOf(
      networks.map(({ last }) => last),
      width,
    );
    const rows = this.#outermost(firsts, lasts);
    this.#firsts = this.#select(firsts, rows);
    this.#lasts = this.#select(lasts, rows);
  }

  has(address: Addresses): boolean {
    // What is before `low` begins at the address or before it, and what is from `high` on begins behind it.
    let low = 0;
    let high = this.#firsts.length / this.width;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(this.#firsts, middle, address, 0) <= 0) low = middle + 1;
      else high = middle;
    }
    return low > 0 && this.#compare(this.#lasts, low - 1, address, 0) >= 0;
  }

  /** The rows in order, without networks that are in another. They never overlap otherwise. */
  #outermost(firsts: Addresses, lasts: Addresses): Uint32Array {
    const rows = Uint32Array.from({ length: firsts.length / this.width }, (_, row) => row);
    rows.sort(
      (one, other) => this.#compare(firsts, one, firsts, other) || this.#compare(lasts, other, lasts, one),
    );
    let outer: number | undefined;
    return rows.filter((row) => {
      const inside = outer !== undefined && this.#compare(lasts, outer, firsts, row) >= 0;
      if (!inside) outer = row;
      return !inside;
    });
  }

  #select(table: Uint16Array, rows: Uint32Array): Uint16Array {
    const { width } = this;
    return new Uint16Array(rows.length * width).map(
      (_, index) => table[rows[Math.trunc(index / width)]! * width + (index % width)]!,
    );
  }

  /** Below 0, 0 or above 0, as one address is before another, the same or behind it. */
  #compare(table: Addresses, row: number, other: Addresses, otherRow: number): number {
    for (let index = 0; index < this.width; index += 1) {
      const difference = table[row * this.width + index]! - other[otherRow * this.width + index]!;
      if (difference !== 0) return difference;
    }
    return 0;
  }
}

function tableOf(addresses: readonly Addresses[], width: number): Uint16Array {
  const table = new Uint16Array(addresses.length * width);
  for (const [index, address] of addresses.entries()) table.set(address, index * width);
  return table;
}
