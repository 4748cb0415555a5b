/**
 * What TypeScript refuses of plans, identities and overrides, and what it lets through: like types.ts.
 *
 * The plans are those that the sample registers for the whole program.
 */
import { Controller, Get } from '@nestjs/common';
import {
  byPlan,
  definePolicies,
  key,
  type LimitOverrides,
  type PlanName,
  RateLimit,
  type RateLimitContext,
  type RateLimiter,
  RateLimitModule,
  when,
} from 'nestjs-valkey-rate-limit';

declare const plan: PlanName;
declare const limiter: RateLimiter;
declare const overrides: LimitOverrides;

const bucket = { algorithm: 'token-bucket', limit: 100, window: '1m' } as const;
const fixed = { algorithm: 'fixed-window', limit: 100, window: '1m' } as const;

// --- Plans ----------------------------------------------------------------------------------------------------------

const two = byPlan({ free: bucket, staff: 'unlimited' }, { default: 'free' });
const three = byPlan({ free: bucket, pro: { ...bucket, burst: 50 }, staff: 'unlimited' }, { default: 'pro' });
byPlan({ free: fixed }, { default: 'free', key: key.tenant(), cost: ({ tenant }) => (tenant ? 1 : 2) });
byPlan({ free: fixed }, { default: 'free', key: key.user(), onStoreFailure: 'closed' });
byPlan({ free: fixed }, { default: 'free', mode: 'shadow', penalty: { after: 3, block: '15m' } });
byPlan({ free: fixed }, { default: 'free', skip: when.network('192.0.2.0/24'), deny: () => false });
byPlan({ free: fixed }, { default: 'free', name: 'free', settle: 'on-success-refund' });
// @ts-expect-error a word that there is not
byPlan({ free: fixed }, { default: 'free', settle: 'on-error-refund' });
// @ts-expect-error a word that there is not
byPlan({ free: fixed }, { default: 'free', mode: 'quiet' });
// @ts-expect-error a penalty without its block
byPlan({ free: fixed }, { default: 'free', penalty: { after: 3 } });

// Together they may have the same plans, some more, or quite others.
const others = byPlan({ basic: bucket, gold: bucket }, { default: 'basic' });
export const policies = definePolicies({ plain: bucket, two, three, others });
type PlansOf<Policy> = Policy extends { plans: infer Plans } ? keyof Plans : never;
export const known: PlansOf<(typeof policies)['plain']>[] = ['free', 'pro', 'staff', 'basic', 'gold'];
// @ts-expect-error a plan that none of them has
export const unknown: PlansOf<(typeof policies)['plain']> = 'silver';
export const written = definePolicies({
  api: byPlan({ free: bucket, staff: 'unlimited' }, { default: 'free' }),
});
export const byHand = definePolicies({
  api: { plans: { free: bucket, staff: 'unlimited' }, default: 'free' },
});

// @ts-expect-error a default that is no plan
byPlan({ free: bucket, pro: bucket }, { default: 'fre' });
// @ts-expect-error a default that may be any text
byPlan({ free: bucket, pro: bucket }, { default: String('free') });
// @ts-expect-error no default
byPlan({ free: bucket, pro: bucket }, {});
// @ts-expect-error no settings
byPlan({ free: bucket, pro: bucket });
// @ts-expect-error a foreign option in a plan
byPlan({ free: { ...fixed, burst: 5 } }, { default: 'free' });
// @ts-expect-error an option that no algorithm has
byPlan({ free: { ...bucket, ttl: 5 } }, { default: 'free' });
// @ts-expect-error an option of the policy
byPlan({ free: { ...bucket, key: key.ip() } }, { default: 'free' });
// @ts-expect-error a bad duration
byPlan({ free: { ...bucket, window: '1x' } }, { default: 'free' });
// @ts-expect-error a misspelt algorithm
byPlan({ free: { algorithm: 'token-bukcet', limit: 5, window: '1m' } }, { default: 'free' });
// @ts-expect-error a misspelt word
byPlan({ free: bucket, staff: 'unlimitted' }, { default: 'free' });
// @ts-expect-error a number
byPlan({ free: bucket, staff: Infinity }, { default: 'free' });
// @ts-expect-error an option of the plans beside them
byPlan({ free: bucket }, { default: 'free', limit: 5 });
// @ts-expect-error a cost that is a text
byPlan({ free: bucket }, { default: 'free', cost: '2' });
// @ts-expect-error a default that is no plan, by hand
definePolicies({ api: { plans: { free: bucket }, default: 'fre' } });

@Controller()
export class Shop {
  @Get()
  @RateLimit(three)
  @RateLimit(byPlan({ free: bucket, pro: bucket }, { default: 'free', name: 'mine', key: key.ip() }))
  right(): string {
    return '';
  }

  // @ts-expect-error a default that is no plan
  @RateLimit(byPlan({ free: bucket }, { default: 'pro' }))
  // @ts-expect-error a policy's option at its use
  @RateLimit('api', { plans: { free: bucket }, default: 'free' })
  wrong(): string {
    return '';
  }
}

// --- Who is behind a request ---------------------------------------------------------------------------------------

RateLimitModule.forRoot({ policies: { three }, everyRoute: ['three'], identify: { plan: () => plan } });
RateLimitModule.forRoot({ identify: { plan: () => Promise.resolve(plan), cacheFor: '1m' } });
RateLimitModule.forRoot({ identify: { plan: ({ tenant }) => (tenant === undefined ? undefined : plan) } });
RateLimitModule.forRoot({ identify: { user: async () => 7, tenant: ({ user }) => user, cacheFor: 500 } });
RateLimitModule.forRoot({ onIdentityFailure: 'closed', authentication: 'guards' });
RateLimitModule.forRootAsync({
  authentication: 'guards',
  useFactory: () => ({ identify: { plan: () => plan } }),
});

// @ts-expect-error a plan that no policy has
RateLimitModule.forRoot({ identify: { plan: () => 'gold' } });
// @ts-expect-error a plan that no policy has, later
RateLimitModule.forRoot({ identify: { plan: async () => 'gold' } });
// @ts-expect-error a plan that may be any text
RateLimitModule.forRoot({ identify: { plan: ({ request }) => String(request['plan']) } });
// @ts-expect-error a plan that is a number
RateLimitModule.forRoot({ identify: { plan: () => 1 } });
// @ts-expect-error a plan that no policy has, from a factory
RateLimitModule.forRootAsync({ useFactory: () => ({ identify: { plan: () => 'gold' } }) });
// @ts-expect-error a plan that is no function
RateLimitModule.forRoot({ identify: { plan } });
// @ts-expect-error a user that is an object
RateLimitModule.forRoot({ identify: { user: () => ({ id: 'ada' }) } });
// @ts-expect-error a bad duration
RateLimitModule.forRoot({ identify: { plan: () => plan, cacheFor: '1x' } });
// @ts-expect-error a switch
RateLimitModule.forRoot({ identify: { plan: () => plan, cacheFor: true } });
// @ts-expect-error a failure mode of stores
RateLimitModule.forRoot({ onIdentityFailure: 'open' });
// @ts-expect-error a place that there is not
RateLimitModule.forRoot({ authentication: 'guard' });
// @ts-expect-error a place that there is not
RateLimitModule.forRootAsync({ authentication: 'guard', useFactory: () => ({}) });
// @ts-expect-error where users are authenticated has to be known before the factory runs
RateLimitModule.forRootAsync({ useFactory: () => ({ authentication: 'guards' }) });

export const own = Object.assign(({ user }: RateLimitContext) => user, { needs: ['user'] });
definePolicies({ api: { ...fixed, key: own, cost: Object.assign(() => 2, { needs: ['plan'] }) } });

// --- Limits that change while running ------------------------------------------------------------------------------

export async function change(): Promise<void> {
  await overrides.set('api', 'acme', { limit: 5, until: new Date() });
  await limiter.overrides.set('api', 'acme', { limit: 5, window: '1h', until: 4_000_000_000_000 });
  await overrides.delete('api', 'acme');
  // @ts-expect-error a policy that is not there
  await overrides.set('appi', 'acme', { limit: 5 });
  // @ts-expect-error a policy that is not there
  overrides.list('appi');
  // @ts-expect-error a limit that is a text
  await overrides.set('api', 'acme', { limit: '5' });
  // @ts-expect-error a bad duration
  await overrides.set('api', 'acme', { window: '1x' });
  // @ts-expect-error another algorithm
  await overrides.set('api', 'acme', { limit: 5, algorithm: 'fixed-window' });
  // @ts-expect-error an end that is a text
  await overrides.set('api', 'acme', { limit: 5, until: '2030-01-01' });
}

// --- What limits a route -------------------------------------------------------------------------------------------

export const described: readonly (number | 'unlimited')[] = limiter
  .describe()
  .flatMap(({ policies: all }) => all.flatMap(({ limits }) => limits.map(({ limit }) => limit)));
