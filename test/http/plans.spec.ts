import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import type { Redis } from 'iovalkey';
import { byPlan, key, type RateLimitContext, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { adapters } from '../support/app.js';
import { lookInto } from '../support/client.js';
import { limitFields, members } from '../support/fields.js';
import { Limit, LONG, type LooseOptions, startLittle, statuses } from '../support/little.js';
import { ownValkey } from '../support/valkey.js';

const atMost = (limit: number) => ({ algorithm: 'fixed-window', limit, window: LONG }) as const;

/** So that no window ends while it is looked at. */
const NOON = Date.UTC(2026, 5, 15, 12);

/** Two and five requests, and as many as anybody likes. */
const plans = { free: atMost(2), pro: atMost(5), staff: 'unlimited' } as const;

const policies = {
  api: byPlan(plans, { default: 'free' }),
  'by-address': byPlan(plans, { default: 'free', key: key.ip() }),
  'at-a-cost': byPlan(plans, { default: 'pro', cost: 2 }),
  address: { ...atMost(100), key: key.ip() },
} satisfies RateLimitModuleOptions['policies'];

@Controller()
class Shop {
  @Get('api')
  @Limit('api')
  api(): string {
    return '';
  }

  @Get('address')
  @Limit('by-address')
  address(): string {
    return '';
  }

  @Get('cost')
  @Limit('at-a-cost')
  cost(): string {
    return '';
  }

  @Get('inline')
  @Limit(byPlan(plans, { default: 'free', name: 'mine' }))
  inline(): string {
    return '';
  }

  @Get('all')
  @Limit('address', 'api', 'by-address', 'at-a-cost')
  all(): string {
    return '';
  }
}

const header = (name: string) => (context: RateLimitContext) => context.request.headers[name] as string;
const identify = { tenant: header('x-tenant'), plan: header('x-plan') };

/** A request of a tenant under a plan. */
const of = (tenant: string, plan?: string) => ({
  headers: { 'x-tenant': tenant, ...(plan !== undefined && { 'x-plan': plan }) },
});
const left = (response: Response) => members(response, 'RateLimit').map(({ name, r }) => [name, r]);

describe.each(adapters)('plans on %s', (adapter) => {
  const start = (options: LooseOptions = {}) =>
    startLittle(adapter, { policies, identify, ...options }, [Shop]);

  test.each(['/api', '/inline'])(
    'have limits of their own at %s, and header fields that say them',
    async (path) => {
      const app = await start();
      expect(await statuses(app, path, 3, of('acme', 'free'))).toEqual([200, 200, 429]);
      expect(await statuses(app, path, 6, of('umbrella', 'pro'))).toEqual([200, 200, 200, 200, 200, 429]);
      const response = await app.fetch(path, of('cyberdyne', 'pro'));
      expect(members(response, 'RateLimit-Policy')).toMatchObject([{ q: 5 }]);
      expect(members(response, 'RateLimit')).toMatchObject([{ r: 4 }]);
    },
  );

  test('that are unlimited are never refused, and have no fields', async () => {
    const app = await start();
    expect(await statuses(app, '/api', 20, of('acme', 'staff'))).toEqual(Array(20).fill(200));
    expect(limitFields(await app.fetch('/api', of('acme', 'staff')))).toEqual([]);
    expect(left(await app.fetch('/all', of('acme', 'staff')))).toEqual([['address', 99]]);
  });

  test('are counted by tenant, or by what the key says', async () => {
    const app = await start();
    expect(await statuses(app, '/address', 2, of('acme', 'free'))).toEqual([200, 200]);
    expect(await statuses(app, '/address', 1, of('umbrella', 'free'))).toEqual([429]);
    expect(left(await app.fetch('/address', of('umbrella', 'pro')))).toEqual([['by-address', 2]]);
  });

  test('are counted by user where nothing tells the tenant', async () => {
    const app = await start({ identify: { user: header('x-tenant'), plan: header('x-plan') } });
    expect(await statuses(app, '/api', 3, of('ada'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/api', 1, of('grace'))).toEqual([200]);
  });

  test('share a cost', async () => {
    const app = await start();
    expect(await statuses(app, '/cost', 3, of('acme', 'pro'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/cost', 2, of('umbrella', 'free'))).toEqual([200, 429]);
  });

  test('are asked for once a request, however many policies go by them', async () => {
    const asked: string[] = [];
    const plan = (context: RateLimitContext) => (asked.push(context.tenant!), 'pro');
    const app = await start({ identify: { tenant: header('x-tenant'), plan } });
    expect(left(await app.fetch('/all', of('acme')))).toEqual([
      ['address', 99],
      ['api', 4],
      ['by-address', 4],
      ['at-a-cost', 3],
    ]);
    expect(asked).toEqual(['acme']);
  });

  test('apply to every route', async () => {
    const app = await start({ everyRoute: ['api'] });
    expect(left(await app.fetch('/address', of('acme', 'pro')))).toEqual([
      ['api', 4],
      ['by-address', 4],
    ]);
  });

  test.each([
    ['undefined', undefined],
    ['null', null],
    ['an empty text', ''],
    ['one that the policy does not have', 'gold'],
    ['one in other letters', 'Staff'],
    ['a number', 1],
    ['NaN', Number.NaN],
    ['true', true],
    ['an object', { plan: 'staff' }],
    ['a list of plans', ['staff']],
    ['a text object', Object('staff')],
    ['a symbol', Symbol('staff')],
    ['a function', () => 'staff'],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['toString', 'toString'],
  ])('that are none are the default, and never no limit: %s', async (_, plan) => {
    const app = await start({ identify: { tenant: header('x-tenant'), plan: () => plan } });
    expect(await statuses(app, '/api', 3, of('acme'))).toEqual([200, 200, 429]);
  });

  test('may have strange names', async () => {
    const strange = Object.fromEntries([
      ['__proto__', atMost(5)],
      ['constructor', atMost(3)],
      ['1', atMost(1)],
    ]);
    const api = byPlan(strange, { default: 'constructor' });
    const app = await start({ policies: { ...policies, api } });
    const limit = async (plan: string) =>
      members(await app.fetch('/api', of(plan, plan)), 'RateLimit-Policy')[0]!['q'];
    expect([await limit('__proto__'), await limit('constructor'), await limit('1')]).toEqual([5, 3, 1]);
    expect([await limit('toString'), await limit('2')]).toEqual([3, 3]);
  });
});

describe('a plan that changes in the middle of a window', () => {
  let url: string;
  let client: Redis;

  beforeAll(async () => {
    ({ url } = await ownValkey());
    client = lookInto(url);
  });
  beforeEach(() => client.flushall());

  const algorithms = [
    { algorithm: 'fixed-window', window: '1h' },
    { algorithm: 'sliding-log', window: '1h' },
    { algorithm: 'sliding-counter', window: '1h' },
    { algorithm: 'token-bucket', window: '1h' },
    { algorithm: 'quota', period: 'day' },
  ] as const;
  const cases = algorithms.flatMap((counting) =>
    (['memory', 'Valkey'] as const).map((store) => [counting.algorithm, store, counting] as const),
  );

  test.each(cases)('counts at once, with what was used: %s in %s', async (_, store, counting) => {
    const changing = byPlan(
      { free: { ...counting, limit: 2 }, pro: { ...counting, limit: 5 }, staff: 'unlimited' },
      { default: 'free' },
    );
    const where = store === 'Valkey' ? { valkey: url, deadline: '5s' as const } : {};
    const limits = { policies: { ...policies, api: changing }, identify, clock: () => NOON, ...where };
    const app = await startLittle('fastify', limits, [Shop]);
    const ask = async (plan: string, times: number) => await statuses(app, '/api', times, of('acme', plan));
    expect(await ask('free', 3)).toEqual([200, 200, 429]);
    // What was denied took nothing: with this one, three of five are used.
    expect(left(await app.fetch('/api', of('acme', 'pro')))).toEqual([['api', 2]]);
    expect(await ask('staff', 3)).toEqual([200, 200, 200]);
    expect(await ask('pro', 3)).toEqual([200, 200, 429]);
    const down = await app.fetch('/api', of('acme', 'free'));
    expect([down.status, left(down)]).toEqual([429, [['api', 0]]]);
    expect(members(down, 'RateLimit-Policy')).toMatchObject([{ q: 2 }]);
  });
});
