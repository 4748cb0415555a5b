import { Injectable, Logger } from '@nestjs/common';
import { RateLimiter } from 'nestjs-valkey-rate-limit';

@Injectable()
export class Delays {
  constructor(limiter: RateLimiter) {
    limiter.decisions$.subscribe((decision) => {
      if (decision.outcome !== 'allowed' || decision.delayMs === 0) return;
      new Logger('Delays').log(`${decision.policy} waits for ${decision.delayMs} ms`);
    });
  }
}
