/** As many requests go in one call, at the most: so long does everybody else of the server wait. */
const MOST = 50;

interface Waiting<Request, Answer> {
  readonly request: Request;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

export interface BatchOptions<Request> {
  /** Requests of the same name may share a call. Left out: all may. */
  readonly callOf?: (request: Request) => string;
  /** Sends the calls of a turn. Left out: one after the other. */
  readonly together?: (send: () => void) => void;
}

/**
 * Lets what is asked in one turn of the event loop travel together. What comes first goes at once, so that whoever is
 * alone waits for nobody; the others of the turn go at its end (docs/adr/0005-requests-travel-together.md).
 */
export class Batches<Request, Answer> {
  readonly #callOf: (request: Request) => string;
  readonly #together: (send: () => void) => void;
  /** By call, in the order in which they were begun. */
  #waiting = new Map<string, Waiting<Request, Answer>[]>();
  /** Whether something has been sent in this turn. */
  #begun = false;

  /** @param ask answers requests in their order, or says why one was not decided; rejects when none was */
  constructor(
    private readonly ask: (requests: readonly Request[]) => Promise<readonly (Answer | Error)[]>,
    { callOf = () => '', together = (send) => send() }: BatchOptions<Request> = {},
  ) {
    this.#callOf = callOf;
    this.#together = together;
  }

  /** @throws {Error} (rejects) when it was not decided */
  add(request: Request): Promise<Answer> {
    return this.#begin() ? this.#askNow(request) : this.#askLater(request);
  }

  /**
   * What somebody needs all of: it goes at once together, or waits together.
   *
   * @throws {Error} (each rejects) when it was not decided
   */
  addAll(requests: readonly Request[]): readonly Promise<Answer>[] {
    const first = this.#begin();
    return requests.map((request) => (first ? this.#askNow(request) : this.#askLater(request)));
  }

  /** Whether nothing has been sent in this turn. */
  #begin(): boolean {
    if (this.#begun) return false;
    this.#begun = true;
    setImmediate(() => {
      this.#begun = false;
      if (this.#waiting.size > 0) this.#sendAll();
    });
    return true;
  }

  async #askNow(request: Request): Promise<Answer> {
    const [answer] = await this.ask([request]);
    if (answer instanceof Error) throw answer;
    return answer!;
  }

  #askLater(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const call = this.#callOf(request);
      const waiting = this.#waiting.get(call);
      if (waiting === undefined) {
        this.#waiting.set(call, [{ request, resolve, reject }]);
        return;
      }
      if (waiting.push({ request, resolve, reject }) < MOST) return;
      this.#waiting.delete(call);
      void this.#send(waiting);
    });
  }

  #sendAll(): void {
    const calls = this.#waiting;
    this.#waiting = new Map();
    this.#together(() => {
      for (const waiting of calls.values()) void this.#send(waiting);
    });
  }

  async #send(sent: readonly Waiting<Request, Answer>[]): Promise<void> {
    try {
      const answers = await this.ask(sent.map(({ request }) => request));
      for (let index = 0; index < sent.length; index += 1) {
        const answer = answers[index]!;
        if (answer instanceof Error) sent[index]!.reject(answer);
        else sent[index]!.resolve(answer);
      }
    } catch (error) {
      for (const { reject } of sent) reject(error);
    }
  }
}
