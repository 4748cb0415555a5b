import { setTimeout as after } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { key, type RateLimitContext, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { adapters } from '../support/app.js';
import { as } from '../support/authentication.js';
import { members } from '../support/fields.js';
import { Limit, LONG, type LooseOptions, startLittle, statuses } from '../support/little.js';

const two = { algorithm: 'fixed-window', limit: 2, window: LONG } as const;
const many = { ...two, limit: 100 };

const policies = {
  user: { ...two, key: key.user() },
  tenant: { ...two, key: key.tenant() },
  address: { ...two, key: key.ip() },
  one: { ...many, key: key.user() },
  two: { ...many, key: key.join(key.user(), key.ip()) },
  three: { ...many, key: ({ user }: RateLimitContext) => user },
  own: { ...two, key: ({ user, tenant }: RateLimitContext) => `${user}@${tenant}` },
  joined: { ...two, key: key.join(key.tenant(), ({ user }) => user) },
  deep: {
    ...two,
    key: key.firstOf(
      key.join(
        key.ip(),
        key.join(key.route(), ({ user }) => user),
      ),
    ),
  },
  told: { ...two, key: Object.assign(({ plan }: RateLimitContext) => plan, { needs: ['plan'] }) },
  costly: { ...many, key: key.ip(), cost: ({ user }: RateLimitContext) => Number(user) },
} satisfies RateLimitModuleOptions['policies'];

@Controller()
class Who {
  @Get('user')
  @Limit('user')
  user(): string {
    return '';
  }

  @Get('tenant')
  @Limit('tenant')
  tenant(): string {
    return '';
  }

  @Get('address')
  @Limit('address')
  address(): string {
    return '';
  }

  @Get('three')
  @Limit('one', 'two', 'three')
  three(): string {
    return '';
  }

  @Get('own')
  @Limit('own')
  own(): string {
    return '';
  }

  @Get('joined')
  @Limit('joined')
  joined(): string {
    return '';
  }

  @Get('deep')
  @Limit('deep')
  deep(): string {
    return '';
  }

  @Get('told')
  @Limit('told')
  told(): string {
    return '';
  }

  @Get('costly')
  @Limit('costly')
  costly(): string {
    return '';
  }
}

const said = ({ request }: RateLimitContext) => request.headers['x-user'] as string | undefined;

/** In which shapes what is asked for may come later. */
const promises: readonly (readonly [string, (value: string | undefined) => Promise<string | undefined>])[] = [
  ['a promise', (value) => Promise.resolve(value)],
  ["a promise of Node's own", (value) => after(1, value)],
  // What query builders give: it begins when somebody waits for it.
  // oxlint-disable-next-line unicorn/no-thenable
  ['a thenable', (value) => ({ then: (done: (it: unknown) => void) => done(value) }) as never],
];

describe.each(adapters)('an identity that has to be waited for, on %s,', (adapter) => {
  const start = (identify: LooseOptions['identify'], options: LooseOptions = {}) =>
    startLittle(adapter, { policies, identify: { tenant: () => 'acme', ...identify }, ...options }, [Who]);

  test.each(promises)('counts each user apart: %s', async (_, promise) => {
    const app = await start({ user: (context) => promise(said(context)) });
    expect(await statuses(app, '/user', 3, as('ada'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/user', 3, as('grace'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/user', 3)).toEqual([200, 200, 429]);
  });

  test('is asked for once a request, however many policies want it', async () => {
    const asked: string[] = [];
    const app = await start({
      user: async (context) => (asked.push('user'), await after(1, said(context))),
      tenant: async () => (asked.push('tenant'), await after(1, 'acme')),
    });
    const response = await app.fetch('/three', as('ada'));
    expect(members(response, 'RateLimit').map(({ r }) => r)).toEqual([99, 99, 99]);
    expect(asked).toEqual(['user', 'tenant']);
  });

  test('is not asked for, nor waited for, by what counts by something else', async () => {
    let asked = 0;
    const user = () => ((asked += 1), new Promise<string>(() => {}));
    const app = await start({ user });
    expect(await statuses(app, '/address', 3)).toEqual([200, 200, 429]);
    expect(asked).toBe(0);
  });

  test('of the tenant may be made of that of the user', async () => {
    const app = await start({
      user: (context) => after(1, said(context)),
      tenant: ({ user }) => user && `of ${user}`,
    });
    expect(await statuses(app, '/tenant', 3, as('ada'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/tenant', 1, as('grace'))).toEqual([200]);
  });

  test('of the plan may be made of both', async () => {
    const plans: string[] = [];
    const app = await start({
      user: (context) => after(1, said(context)),
      tenant: ({ user }) => after(1, user && `of ${user}`),
      plan: ({ user, tenant }) => (plans.push(`${user} ${tenant}`), 'free'),
    });
    await app.fetch('/told', as('ada'));
    expect(plans).toEqual(['ada of ada']);
  });

  test('is known to functions of the application, alone and as parts', async () => {
    const app = await start({
      user: (context) => after(1, said(context)),
      tenant: () => after(1, 'acme'),
    });
    for (const path of ['/own', '/joined', '/deep']) {
      expect([path, await statuses(app, path, 3, as('ada'))]).toEqual([path, [200, 200, 429]]);
      expect([path, await statuses(app, path, 1, as('grace'))]).toEqual([path, [200]]);
    }
  });

  test('is known to a cost, and to what says that it needs it', async () => {
    const app = await start({ user: (context) => after(1, said(context)), plan: said });
    expect(members(await app.fetch('/costly', as('7')), 'RateLimit')).toMatchObject([{ r: 93 }]);
    expect(await statuses(app, '/told', 3, as('pro'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/told', 1, as('free'))).toEqual([200]);
  });

  test('is nobody in the body of a refusal for which nobody was asked', async () => {
    const app = await start(
      { user: () => after(1, 'ada') },
      { problem: ({ status }, { user, tenant }) => ({ status, user: user ?? 'nobody', tenant }) },
    );
    await statuses(app, '/address', 2);
    const response = await app.fetch('/address');
    expect(await response.json()).toEqual({ status: 429, user: 'nobody', tenant: 'acme' });
    await statuses(app, '/user', 2);
    expect(await (await app.fetch('/user')).json()).toEqual({ status: 429, user: 'ada', tenant: 'acme' });
  });
});
