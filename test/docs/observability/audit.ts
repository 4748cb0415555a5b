import { Injectable, Logger } from '@nestjs/common';
import { type DecisionEvent, RateLimiter } from 'nestjs-valkey-rate-limit';
import { filter } from 'rxjs';

@Injectable()
export class Audit {
  readonly #logger = new Logger(Audit.name);

  constructor(limiter: RateLimiter) {
    limiter.decisions$
      .pipe(filter(({ policy, outcome }) => policy === 'login' && outcome === 'denied'))
      .subscribe((decision) => this.#tell(decision));
  }

  #tell({ key, durationMs }: DecisionEvent): void {
    this.#logger.warn(`Too many log-ins of ${key}, decided in ${durationMs.toFixed(1)} ms`);
  }
}
