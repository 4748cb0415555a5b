/** How somebody stopped waiting: it is their turn, they have left, or all are sent away. */
export type TurnEnd = 'turn' | 'left' | 'closed';

/** A place in the line. */
export interface Turn {
  /** Never rejects. */
  readonly ended: Promise<TurnEnd>;
  /** Whoever waits has gone. */
  leave(): void;
}

/** The longest that a timer can wait; nobody waits longer in one piece. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** One who waits: a timer, and no more. */
class Waiting implements Turn {
  readonly ended: Promise<TurnEnd>;
  #resolve!: (how: TurnEnd) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    readonly policies: readonly string[],
    /** When the turn is, by the clock. */
    readonly at: number,
    private readonly clock: () => number,
    /** Takes it out of the line, and answers whether it was still there. */
    private readonly takeOut: (waiting: Waiting) => boolean,
  ) {
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
  }

  readonly leave = (): void => this.end('left');

  start(): void {
    const left = this.at - this.clock();
    // A timer may fire a little early, and nobody goes before their turn.
    if (left <= 0) this.end('turn');
    else this.#timer = setTimeout(() => this.start(), Math.min(Math.ceil(left), LONGEST_TIMER_MS));
  }

  end(how: TurnEnd): void {
    clearTimeout(this.#timer);
    if (this.takeOut(this)) this.#resolve(how);
  }
}

const nothing = (): void => undefined;

/**
 * Those who wait for their turn in this process. When that is, the store has said; here a timer is all that it costs.
 *
 * @example
 * const turn = turns.join(['geocoder'], 250);
 * if ((await turn?.ended) === 'turn') …
 */
export class Turns {
  readonly #waiting = new Set<Waiting>();
  /** How many wait for each policy. */
  readonly #counts = new Map<string, number>();
  #isClosed = false;

  /** @param clock milliseconds that never go back, whole or not */
  constructor(private readonly clock: () => number = () => performance.now()) {}

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** How many wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** How many wait for a policy. */
  waitingFor(policy: string): number {
    return this.#counts.get(policy) ?? 0;
  }

  /** How long until the next of those who wait for a policy stops waiting; 0 where nobody does. */
  nextMs(policy: string): number {
    const now = this.clock();
    let next = Infinity;
    for (const { policies, at } of this.#waiting)
      if (policies.includes(policy)) next = Math.min(next, at - now);
    return next === Infinity ? 0 : Math.max(1, Math.ceil(next));
  }

  /** Waits so long, for these policies. When all are sent away, that is at once. */
  join(policies: readonly string[], delayMs: number): Turn {
    if (this.#isClosed) return { ended: Promise.resolve('closed'), leave: nothing };
    const waiting = new Waiting(policies, this.clock() + delayMs, this.clock, (each) => this.#takeOut(each));
    this.#waiting.add(waiting);
    for (const policy of policies) this.#count(policy, 1);
    waiting.start();
    return waiting;
  }

  /** Sends away all who wait, and whoever comes. */
  close(): void {
    this.#isClosed = true;
    for (const waiting of this.#waiting) waiting.end('closed');
  }

  #takeOut(waiting: Waiting): boolean {
    if (!this.#waiting.delete(waiting)) return false;
    for (const policy of waiting.policies) this.#count(policy, -1);
    return true;
  }

  #count(policy: string, change: number): void {
    const count = this.waitingFor(policy) + change;
    if (count === 0) this.#counts.delete(policy);
    else this.#counts.set(policy, count);
  }
}
