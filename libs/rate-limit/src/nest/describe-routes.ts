import type { PlanLimit } from '../limiter/limit.js';
import type { LimitDescription, PolicyDescription, RouteDescription } from '../limiter/route-description.js';
import type { RoutePolicy } from './route-policy.js';
import type { RouteTable } from './route-table.js';
import { describePlace } from './route-name.js';

/** What limits each route, so that "what limits this route?" has an answer. */
export function describeRoutes(routes: RouteTable): readonly RouteDescription[] {
  return routes.routes().map(({ id, place, before, after }) => ({
    route: id.replace(':', ' '),
    handler: describePlace(place),
    policies: [
      ...before.policies.map((policy) => describePolicy(policy, false)),
      ...after.policies.map((policy) => describePolicy(policy, true)),
    ],
  }));
}

/** The same as lines for the log. */
export function reportRoutes(routes: readonly RouteDescription[]): string[] {
  return routes.map(({ route, handler, policies }) => {
    const said = policies.map(({ policy, algorithm, limits, key, mode, afterGuards }) => {
      const how = `${mode === 'shadow' ? ', in shadow' : ''}${afterGuards ? ', after guards' : ''}`;
      return `${policy} (${algorithm} ${limits.map(showLimit).join(', ')} by ${key}${how})`;
    });
    return `${route} (${handler}): ${said.join(' + ')}`;
  });
}

function describePolicy({ policy, key }: RoutePolicy, afterGuards: boolean): PolicyDescription {
  const { name, rule, plans, onStoreFailure, mode } = policy;
  const limits =
    plans.length === 0
      ? [describeLimit(policy.limitOf(undefined))]
      : plans.map((plan) => ({ plan, ...describeLimit(policy.limitOf(plan)) }));
  return {
    policy: name,
    algorithm: rule.algorithm,
    limits,
    key: key.label ?? 'a function of the application',
    onStoreFailure,
    mode,
    afterGuards,
  };
}

function describeLimit(limit: PlanLimit): LimitDescription {
  if (limit === 'unlimited') return { limit };
  const { limit: amount, windowMs } = limit.rule.quota;
  return { limit: amount, ...(windowMs !== undefined && { windowMs }) };
}

function showLimit({ plan, limit, windowMs }: LimitDescription): string {
  const amount = windowMs === undefined ? String(limit) : `${limit} in ${windowMs} ms`;
  return plan === undefined ? amount : `${plan}: ${amount}`;
}
