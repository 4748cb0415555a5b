import { describe, expect, test } from '@jest/globals';
import { Controller, Get, type Type } from '@nestjs/common';
import { byPlan, createRateLimiter, RateLimitModule } from 'nestjs-valkey-rate-limit';
import { Limit, little, startLittle } from '../support/little.js';
import { refusal, refusalOf } from '../support/refusal.js';

const free = { algorithm: 'token-bucket', limit: 60, window: '1m' } as const;
const pro = { ...free, limit: 600, burst: 50 };
const identify = { plan: () => 'free' };

/** `byPlan` with any arguments. */
const planned = (plans: unknown, settings: unknown) => byPlan(plans as never, settings as never);

function shop(policy: unknown): Type {
  @Controller('shop')
  class Shop {
    @Get()
    @Limit(policy)
    list(): string {
      return '';
    }
  }
  return Shop;
}

const wrong: readonly (readonly [
  what: string,
  plans: unknown,
  settings: unknown,
  code: string,
  says: string,
])[] = [
  ['no plans', {}, { default: 'free' }, 'INVALID_PLANS', 'byPlan({ free: { … }'],
  ['plans that are null', null, { default: 'free' }, 'INVALID_PLANS', 'plans must be'],
  ['plans that are undefined', undefined, { default: 'free' }, 'INVALID_PLANS', 'plans must be'],
  ['a list of plans', [free], { default: '0' }, 'INVALID_PLANS', 'plans must be'],
  ['a map of plans', new Map([['free', free]]), { default: 'free' }, 'INVALID_PLANS', 'plans must be'],
  [
    'no default',
    { free, pro },
    {},
    'INVALID_DEFAULT',
    "default must be a plan with a limit: 'free' or 'pro'",
  ],
  ['settings that are left out', { free }, undefined, 'INVALID_DEFAULT', "with a limit: 'free'"],
  ['a default that is no plan', { free }, { default: 'fre' }, 'INVALID_DEFAULT', "with a limit: 'free'"],
  ['a default that objects have', { free }, { default: 'constructor' }, 'INVALID_DEFAULT', "'free'"],
  ['a default that is a number', { 1: free }, { default: 1 }, 'INVALID_DEFAULT', "with a limit: '1'"],
  ['a default that is a list', { free }, { default: ['free'] }, 'INVALID_DEFAULT', "'free'"],
  [
    'an unlimited default',
    { free, staff: 'unlimited' },
    { default: 'staff' },
    'INVALID_DEFAULT',
    "with a limit: 'free'.",
  ],
  ['no limit at all', { staff: 'unlimited' }, { default: 'staff' }, 'INVALID_DEFAULT', 'and there is none'],
  [
    'several algorithms',
    { free, pro: { algorithm: 'sliding-log', limit: 600, window: '1m' } },
    { default: 'free' },
    'MIXED_ALGORITHMS',
    'count by token-bucket and sliding-log',
  ],
  ['an option of a policy beside', { free }, { default: 'free', limit: 5 }, 'UNKNOWN_OPTION', '"limit"'],
  ['an algorithm beside', { free }, { default: 'free', algorithm: 'quota' }, 'UNKNOWN_OPTION', '"algorithm"'],
  ['a foreign option beside', { free }, { default: 'free', ttl: 5 }, 'UNKNOWN_OPTION', '"ttl"'],
  ['a key that is a text', { free }, { default: 'free', key: 'tenant' }, 'INVALID_KEY', 'key must be'],
  ['a cost that is a text', { free }, { default: 'free', cost: '2' }, 'INVALID_COST', 'cost must be'],
  [
    'a failure mode that there is not',
    { free },
    { default: 'free', onStoreFailure: 'fail' },
    'INVALID_ON_STORE_FAILURE',
    '',
  ],
];

const wrongPlans: readonly (readonly [what: string, plan: unknown, code: string, says: string])[] = [
  ['a foreign option', { ...free, ttl: 5 }, 'UNKNOWN_OPTION', '"ttl"'],
  [
    "another algorithm's option",
    { algorithm: 'fixed-window', limit: 5, window: '1m', burst: 5 },
    'UNKNOWN_OPTION',
    '"burst"',
  ],
  ['a key', { ...free, key: () => 'me' }, 'UNKNOWN_OPTION', '"key"'],
  ['a cost', { ...free, cost: 2 }, 'UNKNOWN_OPTION', '"cost"'],
  ['a failure mode', { ...free, onStoreFailure: 'open' }, 'UNKNOWN_OPTION', '"onStoreFailure"'],
  ['plans of its own', { plans: { free }, default: 'free' }, 'INVALID_ALGORITHM', 'algorithm must be'],
  ['a limit as text', { ...free, limit: '60' }, 'INVALID_LIMIT', '"60" (a string)'],
  ['a bad window', { ...free, window: '1x' }, 'INVALID_WINDOW', '"1x" (a string)'],
  ['a misspelt algorithm', { ...free, algorithm: 'token-bukcet' }, 'INVALID_ALGORITHM', 'token-bucket'],
  ['another word', 'unlimitted', 'INVALID_PLAN', 'or \'unlimited\', not "unlimitted" (a string)'],
  ['a number', 60, 'INVALID_PLAN', 'not 60'],
  ['null', null, 'INVALID_PLAN', 'not null'],
  ['a list', [free], 'INVALID_PLAN', 'not an array'],
  ['a function', () => free, 'INVALID_PLAN', 'not a function'],
  ['Infinity', Infinity, 'INVALID_PLAN', "or 'unlimited', not Infinity"],
];

describe('plans are refused at boot', () => {
  test.each(wrong)('in a policy of the module: %s', async (_, plans, settings, code, says) => {
    const error = await refusalOf({ identify, policies: { api: planned(plans, settings) } });
    expect(error).toMatchObject({ code, where: 'policy "api"' });
    expect(error.message).toContain(says);
  });

  test.each(wrong)('at a handler: %s', async (_, plans, settings, code, says) => {
    const error = await refusalOf({ identify }, shop(planned(plans, settings)));
    expect(error).toMatchObject({ code, where: '@RateLimit at Shop.list' });
    expect(error.message).toContain(says);
  });

  test.each(wrongPlans)('that are wrong themselves: %s', async (_, plan, code, says) => {
    const policies = { api: planned({ free, pro: plan }, { default: 'free' }) };
    const error = await refusalOf({ identify, policies });
    expect(error).toMatchObject({ code, where: 'policy "api" plan "pro"' });
    expect(error.message).toContain(says);
  });

  test('with a name of their own in the module, where the policy has one', async () => {
    const policies = { api: byPlan({ free }, { default: 'free', name: 'other' }) };
    expect(await refusalOf({ identify, policies })).toMatchObject({
      code: 'UNKNOWN_OPTION',
      where: 'policy "api"',
    });
  });

  test('where they are written without byPlan and half a policy', async () => {
    const halves = [
      { plans: { free } },
      { ...free, plans: { free }, default: 'free' },
      { ...free, default: 'free' },
    ];
    const codes = halves.map(async (api) => (await refusalOf({ identify, policies: { api } })).code);
    expect(await Promise.all(codes)).toEqual(['INVALID_DEFAULT', 'UNKNOWN_OPTION', 'UNKNOWN_OPTION']);
  });

  test.each([
    ['at a handler', {}, () => shop(byPlan({ free }, { default: 'free' })), 'Shop.list'],
    ['on every route', { everyRoute: ['api'] }, () => shop(free), 'Shop'],
  ])('that nothing tells: %s', async (_, options, controller, where) => {
    const policies = { api: byPlan({ free }, { default: 'free' }) };
    const error = await refusalOf({ policies, ...options }, controller());
    expect(error).toMatchObject({ code: 'NO_PLAN', where });
    expect(error.message).toContain('identify: { plan: ');
  });

  test('but not for what is no request, and says its plan', async () => {
    const policies = { api: byPlan({ free, pro, staff: 'unlimited' }, { default: 'free' }) };
    const limiter = await createRateLimiter({ policies });
    const peek = async (plan?: string) =>
      await limiter.peek('api', { key: 'acme', ...(plan !== undefined && { plan }) });
    expect(await peek('pro')).toMatchObject({ outcome: 'allowed', limit: 600, plan: 'pro' });
    expect(await peek()).toMatchObject({ outcome: 'allowed', limit: 60 });
    expect(await peek('staff')).toEqual({ outcome: 'unlimited', policy: 'api', cost: 0, plan: 'staff' });
    await limiter.close();
  });

  test('are taken with one plan, and with a limit of 0', async () => {
    const nothing = { ...free, limit: 0, burst: 0 };
    const policies = {
      api: byPlan({ free }, { default: 'free' }),
      no: byPlan({ nothing }, { default: 'nothing' }),
    };
    await startLittle('fastify', { identify, policies, everyRoute: ['api', 'no'] }, [shop(free)]);
  });
});

describe('who is behind a request: it is refused at boot', () => {
  test.each([
    [
      'a plan that is a text',
      { plan: 'free' },
      'INVALID_PLAN',
      'plan must be a function that gives the plan',
    ],
    ['a plan that is null', { plan: null }, 'INVALID_PLAN', 'not null'],
    ['a plan that is a promise', { plan: Promise.resolve('free') }, 'INVALID_PLAN', 'not a promise'],
    ['a foreign part', { ...identify, account: () => 'a' }, 'UNKNOWN_OPTION', '"account"'],
    ['cacheFor without a plan', { cacheFor: '1m' }, 'INVALID_CACHE_FOR', 'nothing tells it'],
    [
      'cacheFor without a plan, for a tenant',
      { tenant: () => 'a', cacheFor: 5 },
      'INVALID_CACHE_FOR',
      'nothing tells it',
    ],
    ['a cacheFor that is none', { ...identify, cacheFor: '1x' }, 'INVALID_CACHE_FOR', '"1x" (a string)'],
    ['a cacheFor that is negative', { ...identify, cacheFor: -1 }, 'INVALID_CACHE_FOR', 'not -1'],
    ['a cacheFor of two days', { ...identify, cacheFor: '2d' }, 'INVALID_CACHE_FOR', 'to 86400000 ms'],
    ['a cacheFor that is true', { ...identify, cacheFor: true }, 'INVALID_CACHE_FOR', 'not true'],
    ['a list', [], 'OPTIONS', 'not an array'],
  ])('%s', async (_, given, code, says) => {
    const error = await refusalOf({ identify: given });
    expect(error).toMatchObject({ code, where: 'RateLimitModule identify' });
    expect(error.message).toContain(says);
  });

  test.each(['open', 'local', 'default', '', null, true, 503])('onIdentityFailure: %p', async (word) => {
    const error = await refusalOf({ onIdentityFailure: word });
    expect(error).toMatchObject({ code: 'INVALID_ON_IDENTITY_FAILURE', where: 'RateLimitModule' });
    expect(error.message).toContain("onIdentityFailure must be 'default-plan' or 'closed', not ");
  });

  test.each(['guard', 'Guards', '', null, true, ['guards']])('authentication: %p', async (word) => {
    const wrongly = { authentication: word as never };
    const ways = [
      () => RateLimitModule.forRoot(wrongly),
      () => RateLimitModule.forRootAsync({ ...wrongly, useFactory: () => ({}) }),
    ];
    for (const way of ways) {
      const error = await refusal(() => little({ imports: [way()] }));
      expect(error).toMatchObject({ code: 'INVALID_AUTHENTICATION', where: 'RateLimitModule' });
      expect(error.message).toContain("authentication must be 'middleware' or 'guards', not ");
    }
  });

  test('authentication that a factory gives, which is too late', async () => {
    const useFactory = () => ({ authentication: 'guards' }) as object;
    const error = await refusal(little({ imports: [RateLimitModule.forRootAsync({ useFactory })] }));
    expect(error).toMatchObject({ code: 'UNKNOWN_OPTION', where: 'RateLimitModule' });
    expect(error.message).toContain('"authentication"');
  });

  test('but not an authentication that is undefined: it is left out', async () => {
    await startLittle('fastify', { authentication: undefined } as never, []);
  });
});
