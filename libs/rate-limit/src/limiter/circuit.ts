/** The first pause after a failure. Short, because most failures are a hiccup. */
const FIRST_PAUSE_MS = 50;

/** The longest pause: with the client's own pause it keeps a recovered server out of use for less than a second. */
const LONGEST_PAUSE_MS = 250;

/**
 * While it exists, a store that did not answer is left alone, so that decisions do not wait for it one by one. It asks
 * it again after pauses that grow, one question at a time. Pauses are cut at random, so that many instances do not ask
 * together.
 */
export class Circuit {
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  /**
   * @param cause why the store is left alone
   * @param probe asks the store something that costs nothing; rejects when it does not answer
   * @param onAnswer the store answers again; nothing happens here any more
   */
  constructor(
    readonly cause: Error,
    private readonly probe: () => Promise<unknown>,
    private readonly onAnswer: () => void,
  ) {
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
    if (!this.#ended) this.onAnswer();
  }
}
