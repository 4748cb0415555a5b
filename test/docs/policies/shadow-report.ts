import { Injectable, Logger } from '@nestjs/common';
import { RateLimiter } from 'nestjs-valkey-rate-limit';

@Injectable()
export class ShadowReport {
  constructor(limiter: RateLimiter) {
    limiter.decisions$.subscribe((decision) => {
      if (decision.outcome !== 'allowed' || decision.shadow?.outcome !== 'denied') return;
      new Logger('Shadow').log(
        `${decision.policy} would have refused for ${decision.shadow.retryAfterMs} ms`,
      );
    });
  }
}
