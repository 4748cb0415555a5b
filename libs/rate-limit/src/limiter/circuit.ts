/** The first pause after a failure. Short, because most failures are a hiccup. */
const FIRST_PAUSE_MS = 50;

/** The longest pause: with the client's own pause it keeps a recovered server out of use for less than a second. */
const LONGEST_PAUSE_MS = 250;

/**
 * Leaves a store alone that did not answer, so that decisions do not wait for it one by one, and asks it again after
 * pauses that grow, one question at a time. Pauses are cut at random, so that many instances do not ask together.
 */
export class Circuit {
  #cause: Error | undefined;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  /**
   * @param probe asks the store something that costs nothing; rejects when it does not answer
   * @param onClosed the store answers again
   */
  constructor(
    private readonly probe: () => Promise<unknown>,
    private readonly onClosed: () => void,
  ) {}

  /** Why the store is left alone; `undefined` while it may be asked. */
  get cause(): Error | undefined {
    return this.#cause;
  }

  /** The store did not answer: nobody asks it until it has answered a probe. */
  open(cause: Error): void {
    if (this.#cause !== undefined || this.#ended) return;
    this.#cause = cause;
    this.#probeAfter(FIRST_PAUSE_MS);
  }

  /** Nobody will ask any more. */
  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  #probeAfter(pauseMs: number): void {
    const jittered = pauseMs * (0.5 + Math.random() / 2);
    this.#timer = setTimeout(() => void this.#ask(pauseMs), jittered);
    this.#timer.unref();
  }

  async #ask(pauseMs: number): Promise<void> {
    try {
      await this.probe();
    } catch {
      if (!this.#ended) this.#probeAfter(Math.min(2 * pauseMs, LONGEST_PAUSE_MS));
      return;
    }
    this.#cause = undefined;
    this.onClosed();
  }
}
