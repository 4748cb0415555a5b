import type { Announcement } from '../http/header-dialect.js';
import type { Engine, PolicyAttempt } from '../limiter/engine.js';
import type { RateLimitContext } from './context.js';
import { requestCost } from './request-cost.js';
import type { RoutePolicy } from './route-policy.js';
import { textOf } from './text-of.js';

/** An attempt of a request, and how its numbers are announced. */
export interface RouteAttempt extends PolicyAttempt {
  readonly announcement: Announcement | undefined;
}

/** What a policy asks of a request; `undefined` where the plan is unlimited. */
export function toAttempt(
  engine: Engine,
  { policy, key, cost, planned, zoned, announce }: RoutePolicy,
  context: RateLimitContext,
): RouteAttempt | undefined {
  const subject = textOf(key(context));
  const plan = planned ? context.plan : undefined;
  const timeZone = zoned ? context.timeZone : undefined;
  const limit = engine.limitOf({ policy, subject, plan, timeZone });
  if (limit === 'unlimited') return undefined;
  return {
    policy,
    subject,
    plan,
    timeZone,
    limit,
    cost: typeof cost === 'number' ? cost : requestCost(cost(context)),
    announcement: announce?.(limit.rule),
  };
}
