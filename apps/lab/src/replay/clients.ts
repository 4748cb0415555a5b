/** More are never kept apart: it is as many as the limiter's memory holds. */
export const MOST_CLIENTS = 1_000_000;

/** Whole numbers below 2^32, one for each client. They begin at 0. */
export class Counts {
  #counts = new Uint32Array(1_024);

  get(client: number): number {
    return this.#counts[client] ?? 0;
  }

  add(client: number): void {
    if (client >= this.#counts.length) this.#grow(client);
    this.#counts[client]! += 1;
  }

  raise(client: number, to: number): void {
    if (client >= this.#counts.length) this.#grow(client);
    if (to > this.#counts[client]!) this.#counts[client] = to;
  }

  #grow(client: number): void {
    const larger = new Uint32Array(2 ** Math.ceil(Math.log2(client + 1)) * 2);
    larger.set(this.#counts);
    this.#counts = larger;
  }
}

/** Gives each key a number from 0, up to a bound. */
export class Clients {
  readonly #numbers = new Map<string, number>();
  readonly #names: string[] = [];
  readonly requests = new Counts();
  /** Requests of those for whom there was no room. */
  otherRequests = 0;

  constructor(private readonly most: number) {}

  get size(): number {
    return this.#names.length;
  }

  name(client: number): string {
    return this.#names[client]!;
  }

  /** Counts a request. Answers whose it is, or -1 where there was no room for another client. */
  count(key: string): number {
    const client = this.find(key) ?? this.#add(key);
    if (client === -1) this.otherRequests += 1;
    else this.requests.add(client);
    return client;
  }

  find(key: string): number | undefined {
    return this.#numbers.get(key);
  }

  #add(key: string): number {
    const client = this.#names.length;
    if (client === this.most) return -1;
    // A copy: a part of a text keeps the whole of it in memory, which is a piece of the log.
    const name = Buffer.from(key).toString();
    this.#names.push(name);
    this.#numbers.set(name, client);
    return client;
  }
}

/** The value that so many percent do not exceed (nearest rank). 0 of none. */
export function percentile(sorted: Float64Array, percent: number): number {
  const rank = Math.max(1, Math.ceil((percent * sorted.length) / 100));
  return sorted[rank - 1] ?? 0;
}
