import { describe, expect, test } from '@jest/globals';
import { Controller, type DynamicModule, Get, Post, type Provider } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  key,
  type RateLimitContext,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nestjs-valkey-rate-limit';
import { adapters, startApp } from '../support/app.js';
import { as, authenticate, LogIn } from '../support/authentication.js';
import { members } from '../support/fields.js';
import { Limit, little, LONG, type LooseLimiter, startLittle, statuses } from '../support/little.js';

const two = { algorithm: 'fixed-window', limit: 2, window: LONG } as const;

const policies = {
  'by-user': { ...two, key: key.user() },
  'by-user-or-ip': { ...two, key: key.firstOf(key.user(), key.ip()) },
  'by-header': { ...two, key: key.header('x-client') },
  'by-own-function': { ...two, key: ({ request }: RateLimitContext) => request['body']?.account as string },
  global: { ...two, key: key.global() },
  one: { ...two, limit: 100, key: key.user() },
  two: { ...two, limit: 100, key: key.join(key.user(), key.ip()) },
  three: { ...two, limit: 100, key: key.firstOf(key.user(), key.ip()) },
} satisfies RateLimitModuleOptions['policies'];

@Controller()
class Who {
  @Get('user')
  @Limit('by-user')
  user(): string {
    return '';
  }

  @Get('user-or-ip')
  @Limit('by-user-or-ip')
  userOrIp(): string {
    return '';
  }

  @Get('header')
  @Limit('by-header')
  header(): string {
    return '';
  }

  @Post('own')
  @Limit('by-own-function')
  own(): string {
    return '';
  }

  @Get('global')
  @Limit('global')
  global(): string {
    return '';
  }

  @Get('three')
  @Limit('one', 'two', 'three')
  three(): string {
    return '';
  }
}

interface Guarded {
  readonly providers?: Provider[];
  readonly before?: Provider[];
  readonly after?: Provider[];
}

function feature(providers: Provider[] = []): DynamicModule {
  class Feature {}
  return { module: Feature, providers };
}

describe.each(adapters)('who is counted on %s', (adapter) => {
  const start = (options: Partial<RateLimitModuleOptions> = {}) =>
    startLittle(adapter, { policies, ...options } as RateLimitModuleOptions, [Who], authenticate(adapter));

  test('is the user that authentication put on the request', async () => {
    const app = await start();
    expect(await statuses(app, '/user', 3, as('ada'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/user', 3, as('grace'))).toEqual([200, 200, 429]);
  });

  test('is everybody together where nobody is known, and nobody known', async () => {
    const app = await start();
    expect(await statuses(app, '/user', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/user', 1, as('ada'))).toEqual([200]);
    expect(await statuses(app, '/header', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/header', 1, { headers: { 'x-client': '' } })).toEqual([429]);
    expect(await statuses(app, '/header', 1, { headers: { 'x-client': 'mine' } })).toEqual([200]);
  });

  test('is not the unknown when a client calls itself what the unknown are called', async () => {
    const app = await start();
    expect(await statuses(app, '/header', 3)).toEqual([200, 200, 429]);
    for (const name of ['?', 'undefined', 'null', '#', '%003f']) {
      expect(await statuses(app, '/header', 1, { headers: { 'x-client': name } })).toEqual([200]);
    }
  });

  test('is the first that is there', async () => {
    const app = await start();
    expect(await statuses(app, '/user-or-ip', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/user-or-ip', 3, as('127.0.0.1'))).toEqual([200, 200, 429]);
  });

  test('is everybody with key.global()', async () => {
    const app = await start();
    expect(await statuses(app, '/global', 1, as('ada'))).toEqual([200]);
    expect(await statuses(app, '/global', 2, as('grace'))).toEqual([200, 429]);
  });

  test('is asked of identify.user once a request, however many policies want it', async () => {
    let asked = 0;
    const user = ({ request }: RateLimitContext) => {
      asked += 1;
      return request.headers['x-user'] as string | undefined;
    };
    const app = await start({ identify: { user } });
    const response = await app.fetch('/three', as('ada'));
    expect(members(response, 'RateLimit').map(({ r }) => r)).toEqual([99, 99, 99]);
    expect(asked).toBe(1);
    await app.fetch('/three'); // nobody: asked once as well
    expect(asked).toBe(2);
    await app.fetch('/header');
    expect(asked).toBe(2);
  });

  test.each([
    ['the root module', (guard: Provider) => ({ providers: [guard] }), [200, 200, 429, 200]],
    ['an earlier module', (guard: Provider) => ({ before: [guard] }), [200, 200, 429, 200]],
    ['a later module', (guard: Provider) => ({ after: [guard] }), [200, 200, 429, 429]],
  ] as const)('is the user whom a global guard of %s knows, or does not yet', async (_, place, expected) => {
    const { before, after, ...root } = place({ provide: APP_GUARD, useClass: LogIn }) as Guarded;
    const limiter = RateLimitModule.forRoot({ policies });
    const imports = [feature(before), limiter, feature(after)];
    const app = await startApp(little({ imports, controllers: [Who], ...root }), adapter);
    const seen = await statuses(app, '/user', 3, as('ada'));
    expect([...seen, ...(await statuses(app, '/user', 1, as('grace')))]).toEqual(expected);
  });

  test('may be a number, as identify.user tells it, and what is not a number is nobody', async () => {
    const app = await start({ identify: { user: ({ request }) => Number(request.headers['x-user']) } });
    expect(await statuses(app, '/user', 3, as('7'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/user', 1, as('8'))).toEqual([200]);
    const response = await app.fetch('/user-or-ip');
    expect(members(response, 'RateLimit')).toMatchObject([{ r: 1 }]);
    const limiter = app.app.get(RateLimiter) as LooseLimiter;
    expect(await limiter.peek('by-user-or-ip', { key: '2.ip=127.0.0.1' })).toMatchObject({ remaining: 1 });
  });

  test('may be told by methods of an object', async () => {
    class Sessions {
      #header = 'x-user';
      user({ request }: RateLimitContext): string {
        return request.headers[this.#header] as string;
      }
      tenant(): string {
        return this.#header;
      }
    }
    const app = await start({ identify: new Sessions() });
    expect(await statuses(app, '/user', 3, as('ada'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/user', 1, as('grace'))).toEqual([200]);
  });

  test.each([
    ['a text', 'ada'],
    ['a number', 7],
    ['null', null],
    ['an object', { id: 1 }],
    ['a list', ['ada']],
    ['a list of long texts', ['a'.repeat(100)]],
    ['a list of strange texts', ['{é}']],
    ['true', true],
  ])('may come from a function of its own that passes on %s from the client', async (_, account) => {
    const app = await start();
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ account }),
    };
    expect(await statuses(app, '/own', 3, init)).toEqual([201, 201, 429]);
  });
});
