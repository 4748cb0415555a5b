import { RateLimitConfigError, show } from '../decision/config-error.js';
import type { Policy } from '../limiter/policy.js';
import type { ContextOptions, RateLimitContext } from './context.js';
import { noSecret } from './keyed-hash.js';
import type { KeyResolver } from './keys/resolver.js';
import { IDENTITY_PARTS, type IdentityPart } from './known.js';
import type { Predicate } from './when/predicate.js';

type Asking = Pick<Policy<RateLimitContext>, 'key' | 'skip' | 'deny'>;

/** @throws {RateLimitConfigError} for a key or list that, as the module is configured, could never be worked out */
export function checkAsking(where: string, { key, skip, deny }: Asking, options: ContextOptions): void {
  checkOne(where, 'its key', key, options);
  checkOne(where, 'its list skip', skip, options);
  checkOne(where, 'its list deny', deny, options);
}

function checkOne(
  where: string,
  what: string,
  asking: KeyResolver | Predicate | undefined,
  { identity, hash }: ContextOptions,
): void {
  checkNeeds(where, asking);
  if (asking?.needs?.includes('tenant') && !identity.told.includes('tenant')) {
    throw new RateLimitConfigError(
      'NO_TENANT',
      where,
      `${what} asks for the tenant, and nothing tells it. Say it in the options of RateLimitModule, such as ` +
        'identify: { tenant: ({ request }) => request.user?.tenantId }, or ask for something else.',
    );
  }
  if (asking?.hashes && hash === undefined) throw noSecret(where, `${what} hashes an API key`);
}

/** @throws {RateLimitConfigError} for a key or cost that says wrongly what it needs */
export function checkNeeds(where: string, asking: unknown): void {
  const needs: unknown = typeof asking === 'function' ? (asking as Partial<KeyResolver>).needs : undefined;
  if (needs === undefined) return;
  if (Array.isArray(needs) && needs.every((part) => IDENTITY_PARTS.includes(part as IdentityPart))) return;
  throw new RateLimitConfigError(
    'INVALID_NEEDS',
    where,
    `needs must be a list of 'user', 'tenant' and 'plan', not ${show(needs)}.`,
  );
}

/** @throws {RateLimitConfigError} for a policy by plan on a route of an application that does not tell the plan */
export function checkPlan(where: string, { name, plans }: Policy<never>, { identity }: ContextOptions): void {
  if (plans.length === 0 || identity.told.includes('plan')) return;
  throw new RateLimitConfigError(
    'NO_PLAN',
    where,
    `policy "${name}" goes by plan, and nothing tells it: everybody would have the default. Say it in the options of ` +
      'RateLimitModule, such as identify: { plan: ({ tenant }) => planOf(tenant) }.',
  );
}
