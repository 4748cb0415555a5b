import type { IncomingMessage } from 'node:http';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { Controller, Get, Post } from '@nestjs/common';
import { key, type RateLimitContext, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { adapters, type AdapterName, type StartOptions } from '../support/app.js';
import { members } from '../support/fields.js';
import { Limit, LONG, startLittle, statuses } from '../support/little.js';

const two = { algorithm: 'fixed-window', limit: 2, window: LONG } as const;

const policies = {
  'by-user': { ...two, key: key.user() },
  'by-user-or-ip': { ...two, key: key.firstOf(key.user(), key.ip()) },
  'by-header': { ...two, key: key.header('x-api-key') },
  'by-own-function': { ...two, key: ({ request }: RateLimitContext) => request['body']?.account as string },
  global: { ...two, key: key.global() },
  one: { ...two, limit: 100, key: key.user() },
  two: { ...two, limit: 100, key: key.join(key.user(), key.ip()) },
  three: { ...two, limit: 100, key: key.firstOf(key.user(), key.ip()) },
} satisfies RateLimitModuleOptions['policies'];

let handled = 0;

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
    handled += 1;
    return '';
  }
}

/** What an application's authentication does: the user of the request is in a header here. */
function authenticate(adapter: AdapterName): StartOptions {
  const hook = (request: IncomingMessage & { user?: unknown }, _: unknown, next: () => void) => {
    const id = request.headers['x-user'];
    if (id !== undefined) request.user = { id };
    next();
  };
  if (adapter === 'express') return { app: (app) => app.use(hook) };
  // Middleware sees Node's request there; a hook sees Fastify's, which the guard sees too.
  return { app: (app) => (app.getHttpAdapter().getInstance() as Hooked).addHook('onRequest', hook) };
}

interface Hooked {
  addHook(name: 'onRequest', hook: unknown): void;
}

const as = (user: string) => ({ headers: { 'x-user': user } });

describe.each(adapters)('who is counted on %s', (adapter) => {
  const start = (options: Partial<RateLimitModuleOptions> = {}) =>
    startLittle(adapter, { policies, ...options } as RateLimitModuleOptions, [Who], authenticate(adapter));

  beforeEach(() => {
    handled = 0;
  });

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
    expect(await statuses(app, '/header', 1, { headers: { 'x-api-key': '' } })).toEqual([429]);
    expect(await statuses(app, '/header', 1, { headers: { 'x-api-key': 'mine' } })).toEqual([200]);
  });

  test('is not the unknown when a client calls itself what the unknown are called', async () => {
    const app = await start();
    expect(await statuses(app, '/header', 3)).toEqual([200, 200, 429]);
    for (const name of ['?', 'undefined', 'null', '#', '%003f']) {
      expect(await statuses(app, '/header', 1, { headers: { 'x-api-key': name } })).toEqual([200]);
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

  test('may be a number, as identify.user tells it', async () => {
    const app = await start({ identify: { user: ({ request }) => Number(request.headers['x-user']) } });
    expect(await statuses(app, '/user', 3, as('7'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/user', 1, as('8'))).toEqual([200]);
  });

  test('that cannot be found out is an error of its own, not a limit, and the handler does not run', async () => {
    const user = () => {
      throw new Error('the session store is down');
    };
    const app = await start({ identify: { user } });
    const response = await app.fetch('/three', as('ada'));
    expect(response.status).toBe(500);
    expect(response.headers.get('retry-after')).toBeNull();
    expect(await response.text()).not.toContain('session store');
    expect(handled).toBe(0);
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
