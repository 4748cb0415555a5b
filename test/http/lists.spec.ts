import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Controller, Get, Post } from '@nestjs/common';
import { key, type RateLimitContext, RateLimiter, when } from 'nestjs-valkey-rate-limit';
import { RequestLimiter } from '../../libs/rate-limit/src/nest/request-limiter.js';
import { adapters, type RunningApp } from '../support/app.js';
import { limitFields, members } from '../support/fields.js';
import { Limit, LONG, type LooseOptions, startLittle, statuses } from '../support/little.js';
import { LimiterLogs } from '../support/logs.js';
import { refusalOf } from '../support/refusal.js';

const two = { algorithm: 'fixed-window', limit: 2, window: LONG } as const;

/** What the functions of the application say next. */
let said: unknown;
const asked = jest.fn<(context: RateLimitContext) => boolean>();
beforeEach(() => void asked.mockReset().mockImplementation(() => said as boolean));

const limits: LooseOptions = {
  policies: {
    office: { ...two, key: key.global(), skip: when.network('192.0.2.0/24', '2001:db8::/32') },
    banned: { ...two, key: key.ip(), deny: when.network('203.0.113.0/24') },
    tenants: {
      ...two,
      skip: when.key(key.tenant(), ['ours']),
      deny: when.any(
        when.key(key.tenant(), ['evil', 'ours']),
        ({ request }) => request.headers['x-evil'] === 'yes',
      ),
    },
    asked: { ...two, key: key.global(), skip: asked },
    refused: { ...two, key: key.global(), deny: asked },
    throwing: {
      ...two,
      deny: () => {
        throw new Error('A fault that a test wants.');
      },
    },
    other: { ...two, limit: 100, key: key.global() },
    shadow: { ...two, limit: 0, deny: when.network('203.0.113.0/24'), mode: 'shadow' },
  },
  identify: {
    tenant: async ({ request }) => request.headers['x-tenant'] as string | undefined,
  },
};

@Controller()
class Routes {
  @Get('office')
  @Limit('office', 'other')
  office(): string {
    return '';
  }

  @Get('banned')
  @Limit('banned', 'other')
  banned(): string {
    return '';
  }

  @Post('tenants')
  @Limit('tenants', 'other')
  tenants(): string {
    return '';
  }

  @Get('asked')
  @Limit('asked')
  asked(): string {
    return '';
  }

  @Get('refused')
  @Limit('refused', 'other')
  refused(): string {
    return '';
  }

  @Get('two')
  @Limit('asked', 'throwing')
  two(): string {
    return '';
  }

  @Get('shadow')
  @Limit('shadow', 'other')
  shadow(): string {
    return '';
  }
}

describe.each(adapters)('the lists of a policy on %s', (adapter) => {
  let app: RunningApp;
  const start = async () => {
    app = await startLittle(adapter, limits, [Routes], {
      trustProxy: ['127.0.0.1'],
      // Nest logs what fails on purpose.
      module: new LimiterLogs().install,
    });
  };
  const from = (address: string): RequestInit => ({ headers: { 'x-forwarded-for': address } });
  const names = (response: Response) => members(response, 'RateLimit').map(({ name }) => name);
  const left = async (policy: string) => {
    const limiter = app.app.get(RateLimiter);
    const decision = await limiter.peek(policy as never, { key: 'global' });
    return 'remaining' in decision ? decision.remaining : undefined;
  };

  test('who is skipped is not counted by it, and by the others as ever', async () => {
    await start();
    for (const address of ['192.0.2.7', '::ffff:192.0.2.7', '::ffff:c000:207', '2001:db8:1::7']) {
      expect(await statuses(app, '/office', 3, from(address))).toEqual([200, 200, 200]);
      expect(names(await app.fetch('/office', from(address)))).toEqual(['other']);
    }
    expect(await left('office')).toBe(2);
    expect(await statuses(app, '/office', 4, from('198.51.100.7'))).toEqual([200, 200, 429, 429]);
    // Also when everybody else is known to be denied.
    expect(await statuses(app, '/office', 2, from('192.0.2.7'))).toEqual([200, 200]);
  });

  test('who is denied gets 403, without a word about limits, and nothing is counted', async () => {
    await start();
    const response = await app.fetch('/banned', from('203.0.113.9'));
    expect(response.status).toBe(403);
    expect(limitFields(response)).toEqual([]);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(await response.json()).toEqual({
      type: 'about:blank',
      title: 'Forbidden',
      status: 403,
      detail: '"banned" does not admit this client.',
    });
    expect(await left('other')).toBe(100);
    expect(await statuses(app, '/banned', 3, from('203.0.113.9'))).toEqual([403, 403, 403]);
    expect(await statuses(app, '/banned', 4, from('203.0.114.9'))).toEqual([200, 200, 429, 429]);
  });

  test('one that only the head of a request decides is refused before Nest, and its lists count there as well', async () => {
    await start();
    const begin = jest.spyOn(app.app.get(RequestLimiter), 'begin');
    for (let count = 0; count < 5; count += 1) await app.fetch('/office', from('198.51.100.7'));
    begin.mockClear();
    expect(await statuses(app, '/office', 2, from('198.51.100.7'))).toEqual([429, 429]);
    expect(begin).not.toHaveBeenCalled();
    expect(await statuses(app, '/office', 1, from('192.0.2.7'))).toEqual([200]);
    expect(begin).toHaveBeenCalledTimes(1);
  });

  test('keys are known before they are asked about, and who is skipped is not denied', async () => {
    await start();
    const as = (tenant: string, more = {}) => ({ method: 'POST', headers: { 'x-tenant': tenant, ...more } });
    expect(await statuses(app, '/tenants', 2, as('evil'))).toEqual([403, 403]);
    expect(await statuses(app, '/tenants', 4, as('ours'))).toEqual([201, 201, 201, 201]);
    expect(await statuses(app, '/tenants', 1, as('good', { 'x-evil': 'yes' }))).toEqual([403]);
    expect(await statuses(app, '/tenants', 3, as('good'))).toEqual([201, 201, 429]);
  });

  test.each([
    ['no', false, [200, 200, 429]],
    ['no, later', Promise.resolve(false), [200, 200, 429]],
    ['yes', true, [200, 200, 200]],
    ['yes, later', Promise.resolve(true), [200, 200, 200]],
    ['nothing', undefined, [200, 200, 429]],
  ])('a function that says %s is taken at its word', async (_, answer, expected) => {
    await start();
    said = answer;
    expect(await statuses(app, '/asked', 3)).toEqual(expected);
    // Once a request.
    expect(asked).toHaveBeenCalledTimes(3);
    const denied = (await answer) === true;
    expect(await statuses(app, '/refused', 3)).toEqual(denied ? [403, 403, 403] : [200, 200, 429]);
  });

  test.each([
    [
      'throws',
      () =>
        asked.mockImplementation(() => {
          throw new Error('A fault that a test wants.');
        }),
    ],
    [
      'rejects',
      () =>
        asked.mockImplementation((() => Promise.reject(new Error('A fault that a test wants.'))) as never),
    ],
    ['says 1', () => asked.mockImplementation(() => 1 as never)],
  ])(
    'a function that %s is an error of the application, and neither skips nor admits',
    async (_, prepare) => {
      await start();
      prepare();
      expect(await statuses(app, '/asked', 2)).toEqual([500, 500]);
      expect(await statuses(app, '/refused', 2)).toEqual([500, 500]);
      expect(await left('other')).toBe(100);
    },
  );

  test('one that throws beside one that fails later ends no process', async () => {
    await start();
    // The first rejects a turn later than the second would throw, which is therefore not asked.
    asked.mockImplementation((async () => {
      await new Promise((resolve) => setImmediate(resolve));
      throw new Error('A fault that a test wants.');
    }) as never);
    expect(await statuses(app, '/two', 2)).toEqual([500, 500]);
  });

  test('in shadow it admits everybody, and says so to whoever listens', async () => {
    await start();
    const told: unknown[] = [];
    app.app.get(RateLimiter).decisions$.subscribe(({ policy, outcome, ...rest }) => {
      if ((policy as string) === 'shadow') told.push([outcome, (rest as { shadow?: unknown }).shadow]);
    });
    expect(await statuses(app, '/shadow', 1, from('203.0.113.9'))).toEqual([200]);
    expect(await statuses(app, '/shadow', 1, from('198.51.100.7'))).toEqual([200]);
    expect(told).toEqual([
      ['forbidden', true],
      ['allowed', expect.objectContaining({ outcome: 'denied' })],
    ]);
  });
});

describe('a list that cannot work is refused at boot', () => {
  @Controller()
  class Route {
    @Get()
    @Limit('listed')
    route(): string {
      return '';
    }
  }

  test.each([
    [{ skip: '10.0.0.0/8' }, /^policy "listed": skip must be a function .* not "10.0.0.0\/8"/],
    [{ deny: ['evil'] }, /^policy "listed": deny must be a function/],
    [
      { skip: when.key(key.tenant(), ['ours']) },
      /^policy "listed": .*asks for the tenant, and nothing tells it/,
    ],
    [{ deny: when.not(when.key(key.apiKey(), [])) }, /^policy "listed": .*hash/],
  ])('%j', async (lists, message) => {
    const { message: told } = await refusalOf({ policies: { listed: { ...two, ...lists } } }, Route);
    expect(told).toMatch(message);
  });
});
