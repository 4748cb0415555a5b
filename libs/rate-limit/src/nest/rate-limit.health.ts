import { Inject, Injectable } from '@nestjs/common';
import { Engine } from '../limiter/engine.js';

/** How the limiter is, as `@nestjs/terminus` (12.1 or newer) wants to hear it. */
export interface RateLimitHealthResult {
  /** `degraded`: the store does not decide, and policies go by `onStoreFailure`. The application still serves. */
  readonly status: 'up' | 'degraded';
  readonly store: 'memory' | 'valkey';
  /** `open`: the store, or a shard of it, did not answer and is left alone until it answers a probe. */
  readonly circuit: 'closed' | 'open';
}

/**
 * The health indicator. It asks nobody: a store that does not answer is known from the decisions that it did not make.
 *
 * Without its store the limiter goes on, and so does the application: it is never `down`, so that a load balancer that
 * asks does not turn the outage of a store into one of everything.
 *
 * @example
 * ```ts
 * @Get('health')
 * @HealthCheck()
 * check() {
 *   return this.health.check([() => this.rateLimit.check('rateLimit')]);
 * }
 * ```
 */
@Injectable()
export class RateLimitHealth {
  constructor(@Inject(Engine) private readonly engine: Engine) {}

  /** @param key under which it stands in the answer */
  check<const Key extends string>(key: Key): Record<Key, RateLimitHealthResult> {
    const { store, circuit, decides } = this.engine.state;
    const result: RateLimitHealthResult = { status: decides ? 'up' : 'degraded', store, circuit };
    return { [key]: result } as Record<Key, RateLimitHealthResult>;
  }
}
