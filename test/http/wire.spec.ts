import { afterEach, describe, expect, test } from '@jest/globals';
import {
  All,
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  Options,
  Header,
  Inject,
  UseFilters,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type Decision, RateLimitException, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { adapters } from '../support/app.js';
import { limitFields, members } from '../support/fields.js';
import { Limit, LONG, startLittle, statuses } from '../support/little.js';

const policies = {
  once: { algorithm: 'fixed-window', limit: 1, window: LONG },
  short: { algorithm: 'token-bucket', limit: 1, window: '10s' },
  long: { algorithm: 'token-bucket', limit: 1, window: '1h' },
  wide: { algorithm: 'token-bucket', limit: 100, window: '1d' },
} as const satisfies RateLimitModuleOptions['policies'];

let caught: readonly Decision[] = [];

@Catch(RateLimitException)
class Teapot implements ExceptionFilter<RateLimitException> {
  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  catch(exception: RateLimitException, host: ArgumentsHost): void {
    caught = exception.decisions;
    this.host.httpAdapter.reply(host.getArgByIndex(1), { tea: exception.getStatus() }, 418);
  }
}

@Controller()
class Wire {
  @Get('once')
  @Limit('once')
  @Header('Cache-Control', 'max-age=60')
  once(): string {
    return 'once';
  }

  @Get('both')
  @Limit('short', 'wide', 'long')
  both(): string {
    return 'both';
  }

  @Get('short')
  @Limit('short')
  short(): string {
    return 'short';
  }

  @All('any')
  @Limit('once')
  any(): string {
    return 'any';
  }

  @Options('own')
  @Limit('once')
  own(): string {
    return 'own';
  }

  @Get('filtered')
  @Limit('short', 'wide')
  @UseFilters(Teapot)
  filtered(): string {
    return 'filtered';
  }
}

afterEach(() => {
  caught = [];
});

describe.each(adapters)('over the wire on %s', (adapter) => {
  const start = (options: Partial<RateLimitModuleOptions> = {}) =>
    startLittle(adapter, { policies, ...options } as RateLimitModuleOptions, [Wire]);

  test("the route's own caching is for what is allowed, never for a refusal", async () => {
    const app = await start();
    expect((await app.fetch('/once')).headers.get('cache-control')).toBe('max-age=60');
    const refused = await app.fetch('/once');
    expect([refused.status, refused.headers.get('cache-control')]).toEqual([429, 'no-store']);
  });

  test('HEAD counts like GET, has the fields and no body', async () => {
    const app = await start();
    const allowed = await app.fetch('/short', { method: 'HEAD' });
    expect([allowed.status, await allowed.text()]).toEqual([200, '']);
    expect(members(allowed, 'RateLimit')).toEqual([{ name: 'short', r: 0, t: 10 }]);
    const refused = await app.fetch('/short', { method: 'HEAD' });
    expect([refused.status, await refused.text()]).toEqual([429, '']);
    expect(limitFields(refused)).toEqual(['ratelimit', 'ratelimit-policy', 'retry-after']);
    expect(await statuses(app, '/short', 1)).toEqual([429]);
  });

  test('two violated policies give one Retry-After, the longer, and only they are listed', async () => {
    const app = await start();
    await app.fetch('/both');
    const response = await app.fetch('/both');
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('3600');
    expect(members(response, 'RateLimit').map(({ name, r }) => [name, r])).toEqual([
      ['short', 0],
      ['long', 0],
    ]);
    expect(members(response, 'RateLimit-Policy').map(({ name }) => name)).toEqual(['short', 'wide', 'long']);
    expect(await response.json()).toMatchObject({
      'violated-policies': ['short', 'long'],
      detail: 'The limits "short", "long" are exceeded. Try again in 3600 seconds.',
    });
  });

  test('one violated of several gives its own Retry-After', async () => {
    const app = await start();
    await app.fetch('/short');
    const response = await app.fetch('/both');
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '10']);
    expect(members(response, 'RateLimit').map(({ name }) => name)).toEqual(['short']);
  });

  test.each([
    ['draft-6', ['ratelimit-limit', 'ratelimit-policy', 'ratelimit-remaining', 'ratelimit-reset']],
    ['x-ratelimit', ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']],
    ['none', []],
  ] as const)('headers: %s sends its fields and no others', async (headers, fields) => {
    const app = await start({ headers });
    const allowed = await app.fetch('/short');
    expect(limitFields(allowed)).toEqual(fields);
    const refused = await app.fetch('/short');
    expect(limitFields(refused)).toEqual([...fields, 'retry-after'].toSorted());
    expect(refused.headers.get('retry-after')).toBe('10');
    expect(await refused.json()).toMatchObject({ 'violated-policies': ['short'] });
    if (headers === 'none') return;
    const before = headers === 'draft-6' ? 'ratelimit' : 'x-ratelimit';
    const values = ['limit', 'remaining', 'reset'].map((name) => refused.headers.get(`${before}-${name}`));
    expect(values).toEqual(['1', '0', '10']);
  });

  describe('the problem option', () => {
    test('replaces the body; status and fields stay', async () => {
      const app = await start({
        problem: ({ status, detail }, { request }, decisions) => ({
          error: { status, detail, path: request['url'], policies: decisions.map(({ policy }) => policy) },
        }),
      });
      await app.fetch('/short');
      const response = await app.fetch('/short');
      expect([response.status, response.headers.get('retry-after')]).toEqual([429, '10']);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.headers.get('content-type')).toMatch(/^application\/json(;|$)/);
      expect(members(response, 'RateLimit')).toMatchObject([{ name: 'short', r: 0 }]);
      expect(await response.json()).toEqual({
        error: {
          status: 429,
          detail: 'The limit "short" is exceeded. Try again in 10 seconds.',
          path: '/short',
          policies: ['short'],
        },
      });
    });
  });

  describe('CORS', () => {
    const origin = 'https://shop.example';
    const preflight = {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'GET' },
    };

    test('preflight is never limited, with enableCors', async () => {
      const app = await startLittle(adapter, { policies, everyRoute: ['once'] }, [Wire], {
        app: (each) => each.enableCors({ origin, exposedHeaders: ['RateLimit', 'Retry-After'] }),
      });
      for (const path of ['/once', '/any']) {
        expect(await statuses(app, path, 3, preflight)).toEqual([204, 204, 204]);
      }
      expect(await statuses(app, '/once', 2, { headers: { origin } })).toEqual([200, 429]);
    });

    test('preflight is never limited, without enableCors', async () => {
      const app = await start();
      // A handler for OPTIONS answers it itself; one for GET does not see it.
      expect(await statuses(app, '/own', 3, preflight)).toEqual([200, 200, 200]);
      expect(await statuses(app, '/once', 3, preflight)).not.toContain(429);
    });

    test('who says it is a preflight does not pass a handler for every method without a limit', async () => {
      const app = await start();
      expect(await statuses(app, '/any', 3, preflight)).toEqual([200, 429, 429]);
    });

    test('OPTIONS that is no preflight is limited like any other', async () => {
      const app = await start();
      expect(await statuses(app, '/any', 2, { method: 'OPTIONS' })).toEqual([200, 429]);
    });

    test('fields are on a refusal as well', async () => {
      const app = await startLittle(adapter, { policies }, [Wire], {
        app: (each) => each.enableCors({ origin, exposedHeaders: ['RateLimit', 'Retry-After'] }),
      });
      await app.fetch('/short', { headers: { origin } });
      const response = await app.fetch('/short', { headers: { origin } });
      expect(response.status).toBe(429);
      expect(response.headers.get('access-control-allow-origin')).toBe(origin);
      expect(response.headers.get('access-control-expose-headers')).toMatch(/^RateLimit, ?Retry-After$/);
    });
  });

  test("a filter of the application's own sees the decisions and keeps the fields", async () => {
    const app = await start();
    expect(await (await app.fetch('/filtered')).text()).toBe('filtered');
    const response = await app.fetch('/filtered');
    expect([response.status, await response.json()]).toEqual([418, { tea: 429 }]);
    expect(response.headers.get('retry-after')).toBe('10');
    expect(caught).toMatchObject([
      { policy: 'short', outcome: 'denied', limit: 1, remaining: 0, store: 'memory' },
      { policy: 'wide', outcome: 'allowed', limit: 100, remaining: 99, delayMs: 0 },
    ]);
    const [denied] = caught;
    expect(denied?.outcome === 'denied' && denied.retryAfterMs).toBeGreaterThan(9_000);
  });
});
