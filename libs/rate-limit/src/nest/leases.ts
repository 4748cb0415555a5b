import { Inject, Injectable } from '@nestjs/common';
import type { Decision } from '../decision/decision.js';
import type { PolicyAttempt } from '../limiter/attempt.js';
import { Engine } from '../limiter/engine.js';
import { HeldPlaces } from '../limiter/held-places.js';
import { UnderWay } from '../limiter/under-way.js';
import type { Outcome } from './settle.js';

/** Holds the places of calls until they have ended. */
@Injectable()
export class Leases {
  readonly #underWay = new UnderWay();

  constructor(@Inject(Engine) private readonly engine: Engine) {}

  /** Of those attempts that have places. */
  hold(attempts: readonly PolicyAttempt[], decisions: readonly Decision[]) {
    return attempts.flatMap((attempt, index) => {
      const decision = decisions[index];
      if (attempt.rule.leaseMs === undefined || decision?.outcome !== 'allowed' || decision.cost === 0)
        return [];
      const places = new HeldPlaces(this.engine, attempt, decision);
      return [
        {
          error: undefined as unknown,
          end: ({ result }: Outcome) => this.#underWay.add(places.release(result)),
          // To give a place back twice is harmless.
          cancel: () => {
            places.cancel();
            return [];
          },
        },
      ];
    });
  }

  /** Waits for what is being given back: before the store is let go of. */
  finish(): Promise<void> {
    return this.#underWay.finish();
  }
}
