import type { ExecutionContext } from '@nestjs/common';
import { type ContextOptions, RateLimitContext, type RateLimitRequest } from '../src/nest/context.js';
import { type Identify, readIdentity } from '../src/nest/identity.js';

/** The context of a request that was made up; keys look at nothing else. */
export function context(
  request: object,
  {
    route = 'GET:/',
    identify = {},
    hash,
  }: Partial<Pick<ContextOptions, 'hash'> & { route: string; identify: Identify }> = {},
): RateLimitContext {
  const whole = { method: 'GET', headers: {}, ...request } as RateLimitRequest;
  return new RateLimitContext(whole, {} as ExecutionContext, route, {
    identity: readIdentity(identify),
    hash,
  });
}
