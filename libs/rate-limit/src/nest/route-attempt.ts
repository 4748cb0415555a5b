import type { PolicyAttempt } from '../limiter/attempt.js';
import type { Engine } from '../limiter/engine.js';
import type { RateLimitContext } from './context.js';
import { requestCost } from './request-cost.js';
import type { RoutePolicy } from './route-policy.js';
import { textOf } from './text-of.js';

/** What a policy asks of a request; `undefined` where the plan is unlimited. */
export function toAttempt(
  engine: Engine,
  { policy, key, cost, planned, zoned }: RoutePolicy,
  context: RateLimitContext,
): PolicyAttempt | undefined {
  const subject = textOf(key(context));
  const plan = planned ? context.plan : undefined;
  const timeZone = zoned ? context.timeZone : undefined;
  const asked = typeof cost === 'number' ? cost : requestCost(cost(context));
  return engine.attempt({ policy, subject, plan, timeZone, tenant: context.knownTenant }, asked);
}
