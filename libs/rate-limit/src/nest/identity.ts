import { RateLimitConfigError } from '../decision/config-error.js';
import { OptionReader } from '../decision/option-reader.js';
import type { Duration } from '../decision/duration.js';
import type { PlanName } from '../limiter/register.js';
import type { RateLimitContext } from './context.js';
import { type Identity, IDENTITY_PARTS } from './known.js';
import { isThenable } from './thenable.js';

type Id = string | number | undefined;

/** Who is behind a request, as the application knows it. Each is asked once a request at the most, and may be async. */
export interface Identify {
  /** The user's id. Left out: `request.user.id`. `undefined` for a request without a user. */
  user?: (context: RateLimitContext) => Id | Promise<Id>;
  /** The id of the tenant that a request is for. `undefined` for a request without a tenant. */
  tenant?: (context: RateLimitContext) => Id | Promise<Id>;
  /** The plan of the tenant or user. `undefined`, or a plan that a policy does not have: the policy's default. */
  plan?: (context: RateLimitContext) => PlanName | undefined | Promise<PlanName | undefined>;
  /**
   * In whose days and months a quota counts that names no time zone: an IANA name such as `'Asia/Tokyo'`. `undefined`, or
   * what is no time zone: UTC.
   */
  timeZone?: (context: RateLimitContext) => string | undefined | Promise<string | undefined>;
  /**
   * How long the plan of a tenant, or of a user without one, is remembered in this process: up to one day, for 10,000 of
   * them. Left out: not at all.
   */
  cacheFor?: Duration;
}

const WHERE = 'RateLimitModule identify';
const MOST_CACHED = 10_000;
const ONE_DAY_MS = 86_400_000;

/** @throws {RateLimitConfigError} for what is no function, or foreign */
export function readIdentity(written: unknown): Identity {
  const options = new OptionReader(WHERE, written);
  const user = options.optionalFunction<NonNullable<Identify['user']>>(
    'user',
    "a function that gives the user's id",
  );
  const tenant = options.optionalFunction<Identify['tenant']>(
    'tenant',
    "a function that gives the tenant's id",
  );
  const plan = options.optionalFunction<NonNullable<Identify['plan']>>(
    'plan',
    'a function that gives the plan',
  );
  const timeZone = options.optionalFunction<Identify['timeZone']>(
    'timeZone',
    'a function that gives the name of a time zone',
  );
  const cacheForMs = options.duration('cacheFor', { min: 0, max: ONE_DAY_MS }, 0);
  options.done();
  if (cacheForMs > 0 && plan === undefined) {
    throw new RateLimitConfigError(
      'INVALID_CACHE_FOR',
      WHERE,
      'cacheFor is for the plan, and nothing tells it.',
    );
  }
  // They may be methods of the object that they came in.
  const own = plan?.bind(written as Identify);
  const functions = {
    user: user?.bind(written) ?? (({ request }: RateLimitContext) => request['user']?.id as unknown),
    tenant: tenant?.bind(written),
    plan: own && cacheForMs > 0 ? cached(own, cacheForMs) : own,
    timeZone: timeZone?.bind(written),
  };
  return {
    told: IDENTITY_PARTS.filter((part) => functions[part] !== undefined),
    ask: (part, context) => functions[part]?.(context as RateLimitContext),
  };
}

/** Remembers plans by tenant or user. Requests that come together share one look-up, and one that failed is forgotten. */
function cached(
  plan: NonNullable<Identify['plan']>,
  cacheForMs: number,
): (context: RateLimitContext) => unknown {
  const known = new Map<string, { readonly plan: unknown; readonly until: number }>();
  return (context) => {
    const who =
      context.tenant === undefined ? context.user && `user:${context.user}` : `tenant:${context.tenant}`;
    if (who === undefined) return plan(context);
    const now = performance.now();
    const present = known.get(who);
    if (present !== undefined && present.until > now) return present.plan;
    const told: unknown = plan(context);
    // One that is waited for is begun once, and shared.
    const asked = isThenable(told) ? Promise.resolve(told) : told;
    // Whoever is asked for next goes to the end of the row, and the one at its head goes when there are too many.
    known.delete(who);
    known.set(who, { plan: asked, until: now + cacheForMs });
    if (known.size > MOST_CACHED) known.delete(known.keys().next().value!);
    if (asked instanceof Promise) {
      asked.then(
        (settled) =>
          known.get(who)?.plan === asked && known.set(who, { plan: settled, until: now + cacheForMs }),
        () => known.get(who)?.plan === asked && known.delete(who),
      );
    }
    return asked;
  };
}
