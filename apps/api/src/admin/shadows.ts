import { Injectable } from '@nestjs/common';
import { RateLimiter } from 'nestjs-valkey-rate-limit';

/** What a policy in shadow would have done since this process started. */
export interface ShadowCounts {
  allowed: number;
  denied: number;
}

/** Counts what policies in shadow would have done, before they are enforced. */
@Injectable()
export class Shadows {
  readonly #counts = new Map<string, ShadowCounts>();

  constructor(limiter: RateLimiter) {
    limiter.decisions$.subscribe((decision) => {
      if (decision.outcome !== 'allowed' || decision.shadow === undefined) return;
      const counts = this.#counts.get(decision.policy) ?? { allowed: 0, denied: 0 };
      counts[decision.shadow.outcome] += 1;
      this.#counts.set(decision.policy, counts);
    });
  }

  counts(): Readonly<Record<string, ShadowCounts>> {
    return Object.fromEntries(this.#counts);
  }
}
