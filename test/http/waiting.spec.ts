import { describe, expect, test } from '@jest/globals';
import {
  applyDecorators,
  Controller,
  Get,
  type MessageEvent,
  Sse,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { byPlan, key, type RateLimitContext, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { type Observable, of } from 'rxjs';
import { adapters, type StartOptions } from '../support/app.js';
import { as, LogIn } from '../support/authentication.js';
import { lookInto } from '../support/client.js';
import { members } from '../support/fields.js';
import { Limit, LONG, type LooseOptions, startLittle, statuses } from '../support/little.js';
import { ownValkey } from '../support/valkey.js';

const two = { algorithm: 'fixed-window', limit: 2, window: LONG } as const;
const many = { ...two, limit: 100 };

const client = ({ request }: RateLimitContext) => request.headers['x-client'] as string;
const user = (context: RateLimitContext) => context.user;
const pages = ({ request }: RateLimitContext) => Number(request['query'].pages);
const byUser = (context: RateLimitContext) => (context.user === 'ada' ? 1 : 10);

/** A controller whose one handler is behind a guard that authenticates. */
function shop(...policies: object[]): Type {
  @Controller('shop')
  @UseGuards(LogIn)
  class Shop {
    @Get()
    @applyDecorators(...policies.map((policy) => Limit(policy)))
    list(): string {
      return '';
    }

    @Sse('events')
    @Limit({ ...two, key: key.user(), name: 'events' })
    events(): Observable<MessageEvent> {
      return of({ data: 'one' });
    }
  }
  return Shop;
}

const address = { ...many, name: 'address', key: key.ip() };
const left = (response: Response) => members(response, 'RateLimit').map(({ name, r }) => [name, r]);

describe.each(adapters)('with authentication in guards, on %s,', (adapter) => {
  const start = (policies: object[], options: LooseOptions = {}, module?: StartOptions['module']) =>
    startLittle(adapter, { ...options, authentication: 'guards' }, [shop(...policies)], module && { module });

  // Who is refused with 401 was counted by what did not wait.
  test.each([
    ['an address', { key: key.ip() }, 1],
    ['a header', { key: key.header('x-client') }, 1],
    ['everybody', { key: key.global() }, 1],
    ['what an own function says', { key: client }, 1],
    ['an own function beside an address', { key: key.join(key.ip(), client) }, 1],
    ['an address at an own cost', { key: key.ip(), cost: pages }, 1],
    ['a user', { key: key.user() }, 0],
    ['a tenant', { key: key.tenant() }, 0],
    ['a user or address', { key: key.firstOf(key.user(), key.ip()) }, 0],
    ['a user of an address', { key: key.join(key.ip(), key.user()) }, 0],
    ['an own function that needs the user', { key: Object.assign(user.bind(null), { needs: ['user'] }) }, 0],
    [
      'an address at a cost by user',
      { key: key.ip(), cost: Object.assign(byUser.bind(null), { needs: ['user'] }) },
      0,
    ],
  ])('what counts %s waits, or does not', async (_, counting, taken) => {
    const tenant = ({ request }: RateLimitContext) => request['user']?.id;
    const app = await start([{ ...two, name: 'it', ...counting }, address], { identify: { tenant } });
    expect(await statuses(app, '/shop', 1)).toEqual([401]);
    const response = await app.fetch('/shop?pages=1', { headers: { 'x-user': 'ada' } });
    expect(left(response).find(([name]) => name === 'it')).toEqual(['it', 1 - taken]);
  });

  test('a limit by plan waits, whatever it counts by', async () => {
    const policy = byPlan({ free: two }, { default: 'free', name: 'it', key: key.ip() });
    const app = await start([policy, address], { identify: { plan: () => 'free' } });
    expect(await statuses(app, '/shop', 2)).toEqual([401, 401]);
    expect(await statuses(app, '/shop', 3, as('ada'))).toEqual([200, 200, 429]);
  });

  test('a function that does not wait does not make users unknown to what does', async () => {
    const app = await start([
      { ...many, name: 'own', key: client, cost: pages },
      { ...two, name: 'user', key: key.user() },
    ]);
    expect(await statuses(app, '/shop', 3, as('ada'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/shop', 1, as('grace'))).toEqual([200]);
  });

  test.each([
    ['key', { key: user }],
    ['cost', { key: key.ip(), cost: byUser }],
    ['part of a key', { key: key.join(key.ip(), user) }],
  ])('a %s that asks too early who it is counts nobody: it fails', async (_, counting) => {
    const asked: unknown[] = [];
    const identify = { user: ({ request }: RateLimitContext) => asked.push(request['user']?.id) };
    const told: string[] = [];
    const error = (message: unknown) => told.push(String(message));
    const app = await start([{ ...two, name: 'it', ...counting }], { identify }, (builder) =>
      builder.setLogger({ error, warn: error, log: () => {} }),
    );
    expect(await statuses(app, '/shop', 1, as('ada'))).toEqual([500]);
    expect(told).toEqual([
      'RateLimitConfigError: context.user: nobody is known before the guards that authenticate have run, and what ' +
        "reads it does not wait for them. Say so on the function that reads it: Object.assign(function, { needs: ['user'] }).",
    ]);
    expect(asked).toEqual([]);
  });

  test('the body of a refusal before it knows nobody', async () => {
    const problem: RateLimitModuleOptions['problem'] = (_, { user: who = 'nobody' }) => ({ who });
    const policies = [
      { ...two, name: 'it', key: key.ip() },
      { ...two, limit: 1, name: 'user', key: key.user() },
    ];
    const app = await start(policies, { problem });
    await app.fetch('/shop', as('ada'));
    expect(await (await app.fetch('/shop', as('ada'))).json()).toEqual({ who: 'ada' });
    await app.fetch('/shop', as('grace'));
    expect(await (await app.fetch('/shop', as('grace'))).json()).toEqual({ who: 'nobody' });
  });

  test('events are refused before the first one', async () => {
    const app = await start([address]);
    const responses = [
      await app.fetch('/shop/events', as('ada')),
      await app.fetch('/shop/events', as('ada')),
      await app.fetch('/shop/events', as('ada')),
    ];
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(left(responses[0]!)).toEqual([['events', 1]]);
    expect(await responses[0]!.text()).toContain('data: one');
    expect(await responses[2]!.json()).toMatchObject({ 'violated-policies': ['events'] });
  });

  test('what was taken before a refusal is given back in Valkey too', async () => {
    const { url: valkey } = await ownValkey();
    const app = await start([address, { ...two, name: 'user', key: key.user() }], { valkey, deadline: '5s' });
    expect(await statuses(app, '/shop', 10, as('ada'))).toEqual([200, 200, ...Array(8).fill(429)]);
    expect(left(await app.fetch('/shop', as('grace')))).toEqual([
      ['address', 97],
      ['user', 1],
    ]);
    expect((await lookInto(valkey).keys('*')).toSorted()).toEqual([
      'rl:{127.0.0.1}:address:fw',
      'rl:{ada}:user:fw',
      'rl:{grace}:user:fw',
    ]);
  });
});
