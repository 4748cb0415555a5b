import { setTimeout as after } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { Controller, type DynamicModule, Get, Header, HttpCode, Post, UseGuards } from '@nestjs/common';
import {
  byPlan,
  key,
  type ModuleExtras,
  type RateLimitContext,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nestjs-valkey-rate-limit';
import { adapters, startApp, type StartOptions } from '../support/app.js';
import { as, LogIn } from '../support/authentication.js';
import { limitFields, members } from '../support/fields.js';
import { Limit, little, LONG, type LooseOptions, statuses } from '../support/little.js';

const two = { algorithm: 'fixed-window', limit: 2, window: LONG } as const;
const five = { ...two, limit: 5 };

const policies = {
  address: { ...five, key: key.ip() },
  user: { ...two, key: key.user() },
  planned: byPlan({ free: two, pro: five, staff: 'unlimited' }, { default: 'free' }),
} satisfies RateLimitModuleOptions['policies'];

@Controller('shop')
@UseGuards(LogIn)
class Shop {
  @Get()
  @Limit('address', 'user')
  list(): string {
    return 'things';
  }

  @Get('open')
  @Limit('address')
  open(): string {
    return '';
  }

  @Get('planned')
  @Limit('address', 'planned')
  planned(): string {
    return '';
  }

  @Post('order')
  @HttpCode(202)
  @Header('Cache-Control', 'max-age=60')
  @Limit('user')
  order(): string {
    return '';
  }
}

@Controller('handler')
class AtHandler {
  @Get()
  @UseGuards(LogIn)
  @Limit('address', 'user')
  list(): string {
    return '';
  }
}

@Controller('twice')
@UseGuards(RateLimitGuard, LogIn, RateLimitGuard)
class Twice {
  @Get()
  @UseGuards(RateLimitGuard)
  @Limit('address', 'user')
  list(): string {
    return '';
  }
}

@Controller('open')
class Open {
  @Get()
  @Limit('user')
  list(): string {
    return '';
  }
}

const controllers = [Open, Shop, AtHandler, Twice];
const left = (response: Response) => members(response, 'RateLimit').map(({ name, r }) => [name, r]);

type Options = RateLimitModuleOptions;
type Way = readonly [string, (limits: Options) => DynamicModule];

const guards: ModuleExtras = { authentication: 'guards' };

/** The two ways to configure the module, each with its extra. */
const ways: readonly Way[] = [
  ['forRoot', (limits: Options) => RateLimitModule.forRoot({ ...limits, ...guards })],
  [
    'forRootAsync',
    (limits: Options) => RateLimitModule.forRootAsync({ ...guards, useFactory: () => limits }),
  ],
];

describe.each(adapters)('two stages on %s', (adapter) => {
  const start = (options: LooseOptions = {}, setUp: StartOptions = {}, [, make] = ways[0]!) =>
    startApp(
      little({
        imports: [
          make({ policies, ...options, identify: { plan: () => 'free', ...options.identify } } as Options),
        ],
        controllers,
      }),
      adapter,
      setUp,
    );

  describe.each(ways)('with %s:', (...way) => {
    test.each(['/shop', '/handler'])(
      'users are counted behind the guards that know them, at %s',
      async (path) => {
        const app = await start({}, {}, way);
        expect(left(await app.fetch(path, as('ada')))).toEqual([
          ['address', 4],
          ['user', 1],
        ]);
        expect(await statuses(app, path, 2, as('ada'))).toEqual([200, 429]);
        expect(left(await app.fetch(path, as('grace')))).toEqual([
          ['address', 2],
          ['user', 1],
        ]);
      },
    );

    test('who is refused by a guard has been counted by address, and by nobody', async () => {
      const app = await start({}, {}, way);
      expect(await statuses(app, '/shop', 3)).toEqual([401, 401, 401]);
      expect(left(await app.fetch('/shop', as('ada')))).toEqual([
        ['address', 1],
        ['user', 1],
      ]);
      expect(await statuses(app, '/shop', 2)).toEqual([401, 429]);
    });
  });

  test('without them, the same guards come too late', async () => {
    const app = await start({}, {}, ['', (limits) => RateLimitModule.forRoot(limits)]);
    expect(await statuses(app, '/shop', 2, as('ada'))).toEqual([200, 200]);
    expect(await statuses(app, '/shop', 1, as('grace'))).toEqual([429]);
  });

  test('guards of the whole application come in time as well', async () => {
    const app = await start({}, { app: (each) => each.useGlobalGuards(new LogIn()) });
    expect(await statuses(app, '/open', 3, as('ada'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/open', 1, as('grace'))).toEqual([200]);
  });

  test('a request that only the second refuses has taken nothing', async () => {
    const app = await start();
    expect(await statuses(app, '/shop', 10, as('ada'))).toEqual([200, 200, ...Array(8).fill(429)]);
    expect(left(await app.fetch('/shop/open', as('ada')))).toEqual([['address', 2]]);
  });

  test('a request that the first refuses reaches no guard, and has taken nothing of the second', async () => {
    const app = await start();
    expect(await statuses(app, '/shop/open', 5, as('ada'))).toEqual([200, 200, 200, 200, 200]);
    const refused = await app.fetch('/shop');
    expect([refused.status, left(refused)]).toEqual([429, [['address', 0]]]);
    expect(await statuses(app, '/shop/order', 2, { method: 'POST', ...as('ada') })).toEqual([202, 202]);
  });

  test('a refusal has the fields of both, its own problem, and no caching', async () => {
    const app = await start();
    await statuses(app, '/shop', 2, as('ada'));
    const response = await app.fetch('/shop', as('ada'));
    expect(members(response, 'RateLimit-Policy').map(({ name, q }) => [name, q])).toEqual([
      ['address', 5],
      ['user', 2],
    ]);
    expect(left(response)).toEqual([['user', 0]]);
    expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(await response.json()).toMatchObject({ status: 429, 'violated-policies': ['user'] });

    const ordered = await app.fetch('/shop/order', { method: 'POST', ...as('ada') });
    expect([ordered.status, ordered.headers.get('cache-control')]).toEqual([429, 'no-store']);
    expect(Number(ordered.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('count once, however often the guard is bound', async () => {
    const app = await start({}, { app: (each) => each.useGlobalGuards(each.get(RateLimitGuard)) });
    expect(left(await app.fetch('/twice', as('ada')))).toEqual([
      ['address', 4],
      ['user', 1],
    ]);
  });

  test('ask for the identity once, after the guards, and wait for it', async () => {
    const asked: unknown[] = [];
    const user = ({ request }: RateLimitContext) => (
      asked.push(request['user']?.id),
      after(1, request['user']?.id)
    );
    const app = await start({
      identify: { user, plan: ({ user: it }) => after(1, it === 'ada' ? 'pro' : 'free') },
    });
    expect(left(await app.fetch('/shop/planned', as('ada')))).toEqual([
      ['address', 4],
      ['planned', 4],
    ]);
    expect(left(await app.fetch('/shop/planned', as('grace')))).toEqual([
      ['address', 3],
      ['planned', 1],
    ]);
    expect(asked).toEqual(['ada', 'grace']);
  });

  test('count an unlimited plan by address alone', async () => {
    const app = await start({ identify: { plan: () => 'staff' } });
    expect(left(await app.fetch('/shop/planned', as('ada')))).toEqual([['address', 4]]);
    expect(await statuses(app, '/shop/planned', 5, as('ada'))).toEqual([200, 200, 200, 200, 429]);
  });

  test('give back what the first took where the identity fails and closes', async () => {
    const user = () => Promise.reject(new Error('the session store is down'));
    const app = await start({ identify: { user }, onIdentityFailure: 'closed' });
    expect(await statuses(app, '/shop', 3, as('ada'))).toEqual([503, 503, 503]);
    expect(left(await app.fetch('/shop/open', as('ada')))).toEqual([['address', 4]]);
  });

  test('are both switched off with the guard, in a test of the application', async () => {
    const app = await start(
      {},
      { module: (builder) => builder.overrideProvider(RateLimitGuard).useValue({ canActivate: () => true }) },
    );
    expect(await statuses(app, '/shop', 7, as('ada'))).toEqual(Array(7).fill(200));
    expect(limitFields(await app.fetch('/shop', as('ada')))).toEqual([]);
  });
});
