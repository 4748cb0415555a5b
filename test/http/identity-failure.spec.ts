import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type ArgumentsHost, Catch, Controller, type ExceptionFilter, Get, Inject } from '@nestjs/common';
import { APP_FILTER, HttpAdapterHost } from '@nestjs/core';
import {
  byPlan,
  type Decision,
  type Identify,
  key,
  type RateLimitContext,
  RateLimitException,
  type RateLimitModuleOptions,
} from 'nestjs-valkey-rate-limit';
import { until } from '../../tools/until.js';
import { adapters, startApp } from '../support/app.js';
import { members } from '../support/fields.js';
import { Limit, little, LONG, type LooseOptions, statuses } from '../support/little.js';
import { LimiterLogs } from '../support/logs.js';

const two = { algorithm: 'fixed-window', limit: 2, window: LONG } as const;

const policies = {
  address: { ...two, limit: 100, key: key.ip() },
  user: { ...two, key: key.user() },
  tenant: { ...two, key: key.tenant() },
  planned: byPlan({ free: two, pro: { ...two, limit: 5 }, staff: 'unlimited' }, { default: 'free' }),
} satisfies RateLimitModuleOptions['policies'];

let handled = 0;

@Controller()
class Who {
  @Get('address')
  @Limit('address')
  address(): string {
    return '';
  }

  @Get('user')
  @Limit('address', 'user')
  user(): string {
    handled += 1;
    return '';
  }

  @Get('tenant')
  @Limit('tenant')
  tenant(): string {
    return '';
  }

  @Get('planned')
  @Limit('planned')
  planned(): string {
    return '';
  }
}

let caught: readonly Decision[] = [];

@Catch(RateLimitException)
class Filter implements ExceptionFilter<RateLimitException> {
  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  catch(exception: RateLimitException, host: ArgumentsHost): void {
    caught = exception.decisions;
    this.host.httpAdapter.reply(host.getArgByIndex(1), exception.getResponse(), exception.getStatus());
  }
}

const fromTenant = { headers: { 'x-tenant': 'acme' } };
const tenant: Identify['tenant'] = ({ request }) => request.headers['x-tenant'] as string;

/** Every way in which a function can fail. */
const ways: readonly (readonly [string, () => never])[] = [
  ['throws', (): never => raise(new Error('the session store is down'))],
  ['rejects', () => Promise.reject(new Error('the session store is down')) as never],
  ['throws a text', (): never => raise('the session store is down')],
  ['throws nothing', (): never => raise(undefined)],
  ['rejects with nothing', () => Promise.reject() as never],
  ['rejects with null', () => Promise.reject(null) as never],
];

const circle = { user: (it: RateLimitContext) => it.tenant, tenant: (it: RateLimitContext) => it.user };

function raise(reason: unknown): never {
  throw reason;
}

describe.each(adapters)('an identity that cannot be found out, on %s,', (adapter) => {
  let logs: LimiterLogs;
  const start = (identify: LooseOptions['identify'], options: LooseOptions = {}) =>
    startApp(
      little({
        limits: { policies, identify: { tenant, plan: () => 'free', ...identify }, ...options },
        controllers: [Who],
        providers: [{ provide: APP_FILTER, useClass: Filter }],
      }),
      adapter,
      { module: logs.install },
    );

  beforeEach(() => {
    logs = new LimiterLogs();
    handled = 0;
  });
  afterEach(() => {
    caught = [];
  });

  test.each(ways)('is that of nobody: what %s', async (_, user) => {
    const app = await start({ user });
    expect(await statuses(app, '/user', 3)).toEqual([200, 200, 429]);
    expect(handled).toBe(2);
  });

  test.each(ways)('closes with "closed": what %s', async (_, user) => {
    const app = await start({ user }, { onIdentityFailure: 'closed' });
    const response = await app.fetch('/user');
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(members(response, 'RateLimit')).toEqual([]);
    const body = await response.text();
    expect(JSON.parse(body)).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      status: 503,
      detail: 'The limits "address", "user" are unavailable. Try again in 1 second.',
    });
    expect(body).not.toContain('session store');
    expect(handled).toBe(0);
    expect(caught).toMatchObject([
      { outcome: 'unidentified', policy: 'address', cost: 0, cause: expect.any(Error) },
      { outcome: 'unidentified', policy: 'user', cost: 0, cause: expect.any(Error) },
    ]);
  });

  test('takes nothing where it closes, and leaves alone what asks for nobody', async () => {
    const app = await start({ user: () => raise(new Error('down')) }, { onIdentityFailure: 'closed' });
    expect(await statuses(app, '/user', 3)).toEqual([503, 503, 503]);
    expect(members(await app.fetch('/address'), 'RateLimit')).toMatchObject([{ r: 99 }]);
  });

  test('is asked for once a request all the same', async () => {
    let asked = 0;
    const user = () => {
      asked += 1;
      throw new Error('down');
    };
    const app = await start({ user, plan: ({ user: it }) => it });
    await app.fetch('/planned');
    expect(asked).toBe(1);
  });

  test('takes the default plan and leaves the tenant where it is the plan that fails', async () => {
    const app = await start({ plan: () => Promise.reject(new Error('the database is down')) });
    expect(await statuses(app, '/planned', 3, fromTenant)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/planned', 1)).toEqual([200]);
  });

  test.each([
    ['default-plan', [200, 200, 429], [200, 200, 200, 200, 200, 429]],
    ['closed', [200, 200, 429], [200, 200, 200, 200, 200, 429]],
  ] as const)(
    'of the user is not that of the tenant, with %s',
    async (onIdentityFailure, ofTenant, ofPlan) => {
      const user = () => Promise.reject(new Error('the session store is down'));
      const app = await start({ user, plan: () => 'pro' }, { onIdentityFailure });
      expect(await statuses(app, '/tenant', 3, fromTenant)).toEqual(ofTenant);
      expect(await statuses(app, '/tenant', 1)).toEqual([200]);
      expect(await statuses(app, '/planned', 6, fromTenant)).toEqual(ofPlan);
    },
  );

  test.each([
    ['a user that is made of itself', { user: ({ user }: RateLimitContext) => user }],
    ['a user that is made of itself, later', { user: async ({ user }: RateLimitContext) => user }],
    ['a user and tenant that are made of each other', circle],
  ])('is told as what it is: %s', async (_, identify) => {
    const app = await start(identify);
    expect(await statuses(app, '/user', 3)).toEqual([200, 200, 429]);
    expect(logs.lines.at(-1)).toContain('RateLimitModule identify: a function asks for what it is to tell.');
  });

  test('is told once when it begins and once when it is over, with the cause', async () => {
    let down = true;
    const user = () => (down ? raise(new Error('the session store is down')) : 'ada');
    const app = await start({ user });
    const before = logs.lines.length;
    await statuses(app, '/user', 5);
    down = false;
    await until('it is over', async () => {
      await app.fetch('/user');
      return logs.lines.length >= before + 2;
    });
    expect(logs.lines.slice(before)).toEqual([
      expect.stringMatching(/^warn: .*onIdentityFailure.*the session store is down\.$/),
      expect.stringMatching(
        /^log: .* It had not for \d+\.\d s, in which \d+ decisions were made without it\.$/,
      ),
    ]);
  });
});
