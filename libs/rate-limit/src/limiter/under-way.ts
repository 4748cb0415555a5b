/** As long as somebody who shuts down has patience. */
const LONGEST_MS = 2_000;

/** What was begun and nobody waits for, until the store is let go of. */
export class UnderWay {
  readonly #promises = new Set<Promise<void>>();

  /** What fails has failed, and those who watch the store have told of it. */
  add(promise: Promise<unknown>): void {
    const ended: Promise<void> = promise.then(
      () => void this.#promises.delete(ended),
      () => void this.#promises.delete(ended),
    );
    this.#promises.add(ended);
  }

  /** Waits for what is under way, also for what begins meanwhile, but not for what never ends. */
  async finish(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<'enough'>((resolve) => {
      timer = setTimeout(() => resolve('enough'), LONGEST_MS);
    });
    while (this.#promises.size > 0) {
      if ((await Promise.race([enough, Promise.all(this.#promises)])) === 'enough') break;
    }
    clearTimeout(timer);
  }
}
