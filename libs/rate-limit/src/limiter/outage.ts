import type { Clock } from '../decision/clock.js';

/** Where the few lines go that a limiter has to say. */
export interface LimiterLog {
  warn(line: string): void;
  log(line: string): void;
}

/** Turns the failures of a store into one line when they begin and one when they end. */
export class Outage {
  #since: number | undefined;
  #decisions = 0;

  constructor(
    private readonly log: LimiterLog,
    private readonly clock: Clock,
  ) {}

  /** @param decisions how many decisions the failure touched */
  failed(cause: Error, decisions: number): void {
    this.#decisions += decisions;
    if (this.#since !== undefined) return;
    this.#since = this.clock();
    this.log.warn(
      `The store does not answer; policies decide by onStoreFailure until it does. ${cause.message}`,
    );
  }

  answered(): void {
    if (this.#since === undefined) return;
    const seconds = ((this.clock() - this.#since) / 1_000).toFixed(1);
    this.log.log(
      `The store answers again after ${seconds} s; ${this.#decisions} decisions were made without it.`,
    );
    this.#since = undefined;
    this.#decisions = 0;
  }
}
