/** How many entries are looked at without a pause: well below a millisecond. */
const SLICE = 8_000;

/** Between two slices of a round. */
const SLICE_PAUSE_MS = 10;

/** Between two rounds. */
const ROUND_PAUSE_MS = 1_000;

/**
 * Has expired entries let go of, also when nobody asks for anything: one timer, which never keeps a process alive, and
 * is there only while there is something to wait for.
 */
export class Sweeper {
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param sweep looks at so many entries and answers whether it has come to the end of a round
   * @param isNeeded whether anything is left that will run out
   */
  constructor(
    private readonly sweep: (entries: number) => boolean,
    private readonly isNeeded: () => boolean,
  ) {}

  /** There is something that will run out. */
  start(): void {
    if (this.#timer === undefined) this.#sweepAfter(ROUND_PAUSE_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #sweepAfter(pauseMs: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const ended = this.sweep(SLICE);
      if (this.isNeeded()) this.#sweepAfter(ended ? ROUND_PAUSE_MS : SLICE_PAUSE_MS);
    }, pauseMs);
    this.#timer.unref();
  }
}
