/** As many requests go in one call, at the most: so long does everybody else of the server wait. */
const MOST = 50;

interface Waiting<Request, Answer> {
  readonly request: Request;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * Lets what is asked in one turn of the event loop travel together. What comes first goes at once, so that whoever is
 * alone waits for nobody; the others of the turn go in one call at its end (docs/adr/0005-requests-travel-together.md).
 */
export class Batches<Request, Answer> {
  #waiting: Waiting<Request, Answer>[] = [];
  /** Whether something has been sent in this turn. */
  #begun = false;

  /** @param ask answers requests in their order, or says why one was not decided; rejects when none was */
  constructor(private readonly ask: (requests: readonly Request[]) => Promise<readonly (Answer | Error)[]>) {}

  /** @throws {Error} (rejects) when it was not decided */
  async add(request: Request): Promise<Answer> {
    if (this.#begun) {
      return new Promise((resolve, reject) => {
        this.#waiting.push({ request, resolve, reject });
        if (this.#waiting.length === MOST) void this.#send();
      });
    }
    this.#begun = true;
    setImmediate(() => {
      this.#begun = false;
      if (this.#waiting.length > 0) void this.#send();
    });
    const [answer] = await this.ask([request]);
    if (answer instanceof Error) throw answer;
    return answer!;
  }

  async #send(): Promise<void> {
    const sent = this.#waiting;
    this.#waiting = [];
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
