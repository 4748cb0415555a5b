/** The first pause after a failure. Short, because most failures are a hiccup. */
const FIRST_PAUSE_MS = 50;

/** The longest pause: with the client's own pause it keeps a recovered server out of use for less than a second. */
const LONGEST_PAUSE_MS = 250;

/**
 * Watches a store that has failed until it has recovered. One that did not answer is left alone, so that decisions do
 * not wait for it one by one; one that answers with errors is asked on, because it may still be able to deny. It is
 * probed after pauses that grow, one question at a time. Pauses are cut at random, so that many instances do not ask
 * together.
 */
export class Circuit {
  #timer: NodeJS.Timeout | undefined;
  #ended = false;
  #cause: Error;
  #open: boolean;

  /**
   * @param cause how the store failed
   * @param answered whether it says that it can't do it, or nothing at all
   * @param probe asks the store for what a decision takes; rejects when it cannot
   * @param onRecovered the probe has succeeded; nothing happens here any more
   */
  constructor(
    cause: Error,
    private readonly answered: (cause: Error) => boolean,
    private readonly probe: () => Promise<unknown>,
    private readonly onRecovered: () => void,
  ) {
    this.#cause = cause;
    this.#open = !answered(cause);
    this.#probeAfter(FIRST_PAUSE_MS);
  }

  /** Whether the store is left alone. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Its last failure. */
  get cause(): Error {
    return this.#cause;
  }

  /** It has failed again. */
  failed(cause: Error): void {
    this.#cause = cause;
    this.#open = !this.answered(cause);
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
    } catch (error) {
      if (this.#ended) return;
      this.failed(error as Error);
      this.#probeAfter(Math.min(2 * pauseMs, LONGEST_PAUSE_MS));
      return;
    }
    if (!this.#ended) this.onRecovered();
  }
}
