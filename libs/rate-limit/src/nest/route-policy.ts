import type { Cost, Policy } from '../limiter/policy.js';
import type { ContextOptions, RateLimitContext } from './context.js';
import { key } from './key.js';
import { isOwn, type KeyResolver } from './keys/resolver.js';
import { IDENTITY_PARTS, type IdentityPart } from './known.js';
import type { NobodyWatch, Watch } from './nobody-watch.js';
import type { Authentication } from './options.js';
import type { Settle } from './settle.js';
import type { Predicate } from './when/predicate.js';

/** A policy on a route, with all that can be known of it before a request comes. */
export interface RoutePolicy {
  readonly policy: Policy<RateLimitContext>;
  readonly key: KeyResolver;
  readonly cost: Cost<RateLimitContext>;
  /** Left out: what was taken stays taken. */
  readonly settle: Settle | undefined;
  /** Whether it has a list of whom it skips, or of whom it denies. */
  readonly isListed: boolean;
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

/** A key, a cost or a list: what it needs, as far as it says so. */
type Asking = Partial<KeyResolver>;

/** How a handler uses a policy. */
export interface PolicyUse {
  readonly cost: Cost<RateLimitContext>;
  readonly settle: Settle | undefined;
}

export function toRoutePolicy(
  policy: Policy<RateLimitContext>,
  { cost, settle }: PolicyUse,
  { identity: { told } }: ContextOptions,
  authentication: Authentication,
  nobody: NobodyWatch,
): RoutePolicy {
  const planned = policy.plans.length > 0;
  const resolver: KeyResolver = policy.key ?? defaultKey(planned, told);
  const lists = [policy.skip, policy.deny].filter((list): list is Predicate => list !== undefined);
  const asking: Asking[] = [resolver, ...lists, ...(typeof cost === 'function' ? [cost as Asking] : [])];
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
    settle,
    isListed: lists.length > 0,
    planned,
    zoned,
    waits,
    needs: unasked ? [] : IDENTITY_PARTS.filter((part) => told.includes(part) && asks.has(part)),
    early:
      resolver.head === true &&
      typeof cost === 'number' &&
      !planned &&
      !zoned &&
      lists.every(({ head }) => head === true),
    watch: nobody.of(policy, resolver),
  };
}

/** Plans belong to tenants, or to users where there are none. */
function defaultKey(planned: boolean, told: readonly IdentityPart[]): KeyResolver {
  if (!planned) return key.ip();
  return told.includes('tenant') ? key.tenant() : key.user();
}
