import type { AllowedDecision } from '../decision/decision.js';
import type { Work, WorkResult } from './adaptive/estimator.js';
import type { PolicyAttempt } from './attempt.js';
import type { Engine } from './engine.js';

/** So many times within a lease it is renewed, so that one answer that does not come ends none. */
const RENEWALS = 3;

/** Places that are held while some work goes on, however long that is. */
export class HeldPlaces {
  readonly #timer: NodeJS.Timeout;
  /** Of a limit that is found out by how long they are held. */
  readonly #work: Work | undefined;
  #isReleased = false;

  constructor(
    private readonly engine: Pick<Engine, 'ask' | 'settle' | 'now' | 'held'>,
    private readonly attempt: PolicyAttempt,
    private readonly decision: AllowedDecision,
  ) {
    const everyMs = Math.max(1, Math.floor(attempt.rule.leaseMs! / RENEWALS));
    this.#timer = setInterval(() => void this.#renew(), everyMs).unref();
    this.#work = attempt.limit.estimator?.begin(engine.now());
    engine.held.add(this);
  }

  /** They are given back otherwise. */
  cancel(): void {
    this.#isReleased = true;
    this.engine.held.delete(this);
    clearInterval(this.#timer);
    this.#work?.leave();
  }

  /**
   * Gives them back, once. Where the store does not answer they come back when their lease ends.
   *
   * @param result how the work ended that they were held for
   */
  async release(result: WorkResult): Promise<void> {
    if (this.#isReleased) return;
    this.#work?.end(result, this.engine.now());
    this.cancel();
    await this.engine.settle(this.attempt, this.decision, 0);
  }

  async #renew(): Promise<void> {
    const { lease, store } = this.decision;
    const ask = { cost: 1, renew: true, lease };
    try {
      const answer = await this.engine.ask(this.attempt, ask, store);
      // It had ended, and somebody else may have the place.
      if (answer?.verdicts[0]!.outcome === 'denied') clearInterval(this.#timer);
    } catch {
      // A store that does not answer: there is time for another try.
    }
  }
}
