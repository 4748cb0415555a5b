import { type Attempt, StoreUnavailableError } from '../store.js';
import type { Found } from '../verdicts.js';

/** What a script answers, read from the front: the time, and then what was found for each request. */
export class Reply {
  /** When it was decided, in milliseconds since 1970. */
  readonly at: number;
  readonly #values: readonly unknown[];
  #next = 1;

  /** @throws {StoreUnavailableError} for what no script of ours answers */
  constructor(reply: unknown) {
    if (!Array.isArray(reply) || typeof reply[0] !== 'number') throw strange(reply);
    this.#values = reply;
    this.at = reply[0];
  }

  /**
   * The readings of the next request, one after the other, the first integer of a denied attempt as −1 − integer; or the
   * error with which the server did not decide it.
   *
   * @throws {StoreUnavailableError} for what no script of ours answers
   */
  read(attempts: readonly Attempt[]): readonly Found[] | Error {
    const why = this.#values[this.#next];
    if (typeof why === 'string') {
      this.#next += 1;
      // As those look that a server sends for a whole call.
      return Object.assign(new Error(why), { name: 'ReplyError' });
    }
    return attempts.map(({ rule }) => {
      const reading = this.#values.slice(this.#next, this.#next + rule.readings) as number[];
      this.#next += rule.readings;
      if (reading.length !== rule.readings) throw strange(this.#values);
      const [first] = reading;
      if (first! >= 0) return { allowed: true, reading };
      reading[0] = -1 - first!;
      return { allowed: false, reading };
    });
  }
}

function strange(reply: unknown): StoreUnavailableError {
  return new StoreUnavailableError(`the script was answered with ${JSON.stringify(reply)}`);
}
