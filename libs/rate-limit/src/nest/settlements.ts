import { Inject, Injectable, Logger } from '@nestjs/common';
import type { AllowedDecision, Decision } from '../decision/decision.js';
import type { PolicyAttempt } from '../limiter/attempt.js';
import { Engine } from '../limiter/engine.js';
import { UnderWay } from '../limiter/under-way.js';
import type { RateLimitContext } from './context.js';
import { asError } from './as-error.js';
import type { RoutePolicy } from './route-policy.js';
import { type Outcome, realCost, type Settle } from './settle.js';

/** What one policy took of a request, and how it is settled. */
interface Due {
  readonly attempt: PolicyAttempt;
  readonly decision: AllowedDecision;
  readonly settle: Settle;
}

/** What was taken for a request, until it is known how that ended. */
export class Settlement {
  /** What was thrown on the way, where somebody has seen it. */
  error: unknown;
  #isOver = false;

  constructor(
    private readonly dues: readonly Due[],
    private readonly settle: (dues: readonly Due[], outcome: Outcome) => void,
  ) {}

  /** Once: whatever comes after it changes nothing. */
  end(outcome: Outcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.settle(this.dues, this.error === undefined ? outcome : { ...outcome, error: this.error });
  }

  /** It is given back otherwise. Answers for which attempts it is too late, as they are settled. */
  cancel(): readonly PolicyAttempt[] {
    const late = this.#isOver ? this.dues.map(({ attempt }) => attempt) : [];
    this.#isOver = true;
    return late;
  }
}

/** Makes of what requests took what they should have taken, as soon as that is known. */
@Injectable()
export class Settlements {
  readonly #log = new Logger('RateLimit');
  readonly #underWay = new UnderWay();
  /** Policies whose function has failed, and was told of. */
  readonly #told = new Set<string>();

  constructor(@Inject(Engine) private readonly engine: Engine) {}

  /** None if nothing was taken that is to be settled. */
  open(
    policies: readonly RoutePolicy[],
    attempts: readonly PolicyAttempt[],
    decisions: readonly Decision[],
    context: RateLimitContext,
  ): Settlement[] {
    const dues = policies.flatMap(({ policy, settle }): Due[] => {
      const index = attempts.findIndex((attempt) => attempt.policy === policy);
      const decision = decisions[index];
      if (settle === undefined || decision?.outcome !== 'allowed') return [];
      // A function may have more taken than nothing. In shadow, whoever would have been denied would not be here.
      if (decision.cost === 0 && typeof settle === 'string') return [];
      if (decision.shadow?.outcome === 'denied') return [];
      return [{ attempt: attempts[index]!, decision, settle }];
    });
    if (dues.length === 0) return [];
    return [new Settlement(dues, (due, outcome) => this.#settle(due, outcome, context))];
  }

  /** Waits for what is under way: before the store is let go of. */
  finish(): Promise<void> {
    return this.#underWay.finish();
  }

  #settle(dues: readonly Due[], outcome: Outcome, context: RateLimitContext): void {
    for (const due of dues) this.#underWay.add(this.#settleOne(due, outcome, context));
  }

  /** What cannot be settled stays as it was reserved, and comes back by itself. */
  async #settleOne(
    { attempt, decision, settle }: Due,
    outcome: Outcome,
    context: RateLimitContext,
  ): Promise<void> {
    let cost: number;
    try {
      cost = await realCost(settle, outcome, decision.cost, context);
    } catch (error) {
      this.#tell(decision.policy, asError(error));
      return;
    }
    await this.engine.settle(attempt, decision, cost);
  }

  #tell(policy: string, { message }: Error): void {
    if (this.#told.has(policy)) return;
    this.#told.add(policy);
    this.#log.warn(
      `Policy "${policy}" cannot be settled, and what was reserved is kept: ${message}. Told once.`,
    );
  }
}
