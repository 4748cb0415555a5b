import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { RequestLimiter } from './request-limiter.js';

/**
 * Decides every call whose handler has a policy: of HTTP, GraphQL, gateways and microservices. The module registers it
 * globally; to take it out of a test, `overrideProvider(RateLimitGuard).useValue({ canActivate: () => true })`.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(@Inject(RequestLimiter) private readonly limiter: RequestLimiter) {}

  canActivate(execution: ExecutionContext): boolean | Promise<boolean> {
    return this.limiter.begin(execution);
  }
}
