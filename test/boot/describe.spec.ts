import { describe, expect, test } from '@jest/globals';
import { Controller, Get, Module, Post } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { byPlan, createRateLimiter, key, type RateLimitContext, RateLimiter } from 'nestjs-valkey-rate-limit';
import { startApp, type StartOptions } from '../support/app.js';
import { Limit, little, type LooseOptions, Skip } from '../support/little.js';

const policies = {
  address: { algorithm: 'fixed-window', limit: 600, window: '1m' },
  user: { algorithm: 'sliding-log', limit: 5, window: '10s', key: key.user(), onStoreFailure: 'closed' },
  login: {
    algorithm: 'sliding-log',
    limit: 5,
    window: '1m',
    key: key.join(key.ip(), key.body('username')),
  },
  api: byPlan(
    {
      free: { algorithm: 'token-bucket', limit: 60, window: '1m' },
      pro: { algorithm: 'token-bucket', limit: 600, window: '1m', burst: 50 },
      staff: 'unlimited',
    },
    { default: 'free' },
  ),
  month: { algorithm: 'quota', limit: 1_000, period: 'month', key: ({ user }: RateLimitContext) => user },
} satisfies LooseOptions['policies'];

@Controller('products')
@Limit('api')
class Products {
  @Get(':id')
  @Limit('user', 'month')
  find(): string {
    return '';
  }

  @Post()
  @Skip('address')
  @Limit({ algorithm: 'leaky-bucket', limit: 10, window: '1s', key: key.global(), mode: 'shadow' })
  add(): string {
    return '';
  }

  @Get('free/of/limits')
  @Skip()
  free(): string {
    return '';
  }
}

@Controller()
class LogIn {
  @Post(['login', 'sign-in'])
  @Limit('login')
  logIn(): string {
    return '';
  }
}

@Module({ controllers: [LogIn] })
class Accounts {}

const identify = { tenant: () => 'acme', plan: () => 'free' };
const mounted = RouterModule.register([{ path: 'accounts', module: Accounts }]);

const start = (options: LooseOptions = {}, setUp?: StartOptions) => {
  const limits = { policies, identify, everyRoute: ['address'], ...options };
  return startApp(
    little({ limits, controllers: [Products], imports: [Accounts, mounted] }),
    'fastify',
    setUp,
  );
};

/** What the limiter says at the debug level. */
async function report(options?: LooseOptions): Promise<string[]> {
  const lines: string[] = [];
  const nothing = () => {};
  const debug = (line: string, from: string) => from === 'RateLimit' && lines.push(line);
  const module: StartOptions['module'] = (builder) =>
    builder.setLogger({ log: nothing, warn: nothing, error: nothing, debug });
  await start(options, { module });
  return lines;
}

describe('what limits a route', () => {
  test('is said at boot, line by line, in the order in which it is decided', async () => {
    expect(await report()).toEqual([
      'GET /products/:id (Products.find): address (fixed-window 600 in 60000 ms by ip) + api (token-bucket free: 60 in ' +
        '60000 ms, pro: 600 in 60000 ms, staff: unlimited by tenant) + user (sliding-log 5 in 10000 ms by user) + ' +
        'month (quota 1000 by a function of the application)',
      'POST /products (Products.add): api (token-bucket free: 60 in 60000 ms, pro: 600 in 60000 ms, staff: unlimited by ' +
        'tenant) + post-products (leaky-bucket 10 in 1000 ms by global, in shadow)',
      'POST /accounts/login,/accounts/sign-in (LogIn.logIn): address (fixed-window 600 in 60000 ms by ip) + ' +
        'login (sliding-log 5 in 60000 ms by ip|body.username)',
    ]);
  });

  test('is said with what waits for the guards behind what does not', async () => {
    const [first] = await report({ authentication: 'guards' });
    expect(first).toMatch(
      /: address \([^)]*by ip\) \+ month \([^)]*\) \+ api \([^)]*, after guards\) \+ user \([^)]*, after guards\)$/,
    );
  });

  test('is not said at other levels', async () => {
    const lines: string[] = [];
    const keep = (line: string, from: string) => from === 'RateLimit' && lines.push(line);
    const module: StartOptions['module'] = (builder) =>
      builder.setLogger({ log: keep, warn: keep, error: keep });
    await start({}, { module });
    expect(lines).toEqual(['Counting in the memory of this process.']);
  });

  test('is what describe() gives', async () => {
    const { app } = await start({ authentication: 'guards' });
    const routes = app.get(RateLimiter).describe();
    expect(routes.map(({ route, handler }) => [route, handler])).toEqual([
      ['GET /products/:id', 'Products.find'],
      ['POST /products', 'Products.add'],
      ['POST /accounts/login,/accounts/sign-in', 'LogIn.logIn'],
    ]);
    const bucket = {
      algorithm: 'token-bucket',
      key: 'tenant',
      onStoreFailure: 'local',
      mode: 'enforced',
      afterGuards: true,
    };
    expect(routes[0]!.policies).toEqual([
      {
        policy: 'address',
        algorithm: 'fixed-window',
        limits: [{ limit: 600, windowMs: 60_000 }],
        key: 'ip',
        onStoreFailure: 'local',
        mode: 'enforced',
        afterGuards: false,
      },
      {
        policy: 'month',
        algorithm: 'quota',
        limits: [{ limit: 1_000 }],
        key: 'a function of the application',
        onStoreFailure: 'local',
        mode: 'enforced',
        afterGuards: false,
      },
      {
        policy: 'api',
        ...bucket,
        limits: [
          { plan: 'free', limit: 60, windowMs: 60_000 },
          { plan: 'pro', limit: 600, windowMs: 60_000 },
          { plan: 'staff', limit: 'unlimited' },
        ],
      },
      {
        policy: 'user',
        algorithm: 'sliding-log',
        limits: [{ limit: 5, windowMs: 10_000 }],
        key: 'user',
        onStoreFailure: 'closed',
        mode: 'enforced',
        afterGuards: true,
      },
    ]);
  });

  test('is nothing where there are no routes', async () => {
    const limiter = await createRateLimiter({ policies: { api: policies.address } });
    expect(limiter.describe()).toEqual([]);
    await limiter.close();
  });
});
