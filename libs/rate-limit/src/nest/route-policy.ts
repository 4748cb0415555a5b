import type { Cost, Policy } from '../limiter/policy.js';
import type { ContextOptions, RateLimitContext } from './context.js';
import { key } from './key.js';
import { isOwn, type KeyResolver } from './keys/resolver.js';
import { IDENTITY_PARTS, type IdentityPart } from './known.js';
import type { NobodyWatch, Watch } from './nobody-watch.js';
import type { Authentication } from './options.js';

/** A policy on a route, with all that can be known of it before a request comes. */
export interface RoutePolicy {
  readonly policy: Policy<RateLimitContext>;
  readonly key: KeyResolver;
  readonly cost: Cost<RateLimitContext>;
  /** Whether its limits go by plan. */
  readonly planned: boolean;
  /** Whether its periods are those of whoever is behind the request. */
  readonly zoned: boolean;
  /** Whether it is decided after the guards of controllers and handlers, because they tell who somebody is. */
  readonly waits: boolean;
  /** What has to be known of whoever is behind the request. */
  readonly needs: readonly IdentityPart[];
  /** Whether its attempt is known from the head of a request alone: before its body, and before anybody is identified. */
  readonly early: boolean;
  /** Told of its requests, where the key asks for somebody's identity. */
  readonly watch: Watch | undefined;
}

/** A key or a cost: what it needs, as far as it says so. */
type Asking = Partial<KeyResolver>;

export function toRoutePolicy(
  policy: Policy<RateLimitContext>,
  cost: Cost<RateLimitContext>,
  { identity: { told } }: ContextOptions,
  authentication: Authentication,
  nobody: NobodyWatch,
): RoutePolicy {
  const planned = policy.plans.length > 0;
  const resolver: KeyResolver = policy.key ?? defaultKey(planned, told);
  const asking: Asking[] = typeof cost === 'function' ? [resolver, cost as Asking] : [resolver];
  const said = asking.flatMap(({ needs = [] }) => needs);
  const zoned = policy.zoned && told.includes('timeZone');
  const waits = authentication === 'guards' && (planned || zoned || said.length > 0);
  const asks = new Set<IdentityPart>([
    ...said,
    ...(planned ? (['plan'] as const) : []),
    ...(zoned ? (['timeZone'] as const) : []),
    ...(asking.some(isOwn) ? (['user', 'tenant'] as const) : []),
  ]);
  // Before authentication nobody is known, and to ask would be to know that for good.
  const unasked = authentication === 'guards' && !waits;
  return {
    policy,
    key: resolver,
    cost,
    planned,
    zoned,
    waits,
    needs: unasked ? [] : IDENTITY_PARTS.filter((part) => told.includes(part) && asks.has(part)),
    early: resolver.head === true && typeof cost === 'number' && !planned && !zoned,
    watch: nobody.of(policy, resolver),
  };
}

/** Plans belong to tenants, or to users where there are none. */
function defaultKey(planned: boolean, told: readonly IdentityPart[]): KeyResolver {
  if (!planned) return key.ip();
  return told.includes('tenant') ? key.tenant() : key.user();
}
