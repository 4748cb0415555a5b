import { describe, expect, test } from '@jest/globals';
import { Controller, Get, type Type } from '@nestjs/common';
import {
  type Cost,
  createRateLimiter,
  key,
  type KeyResolver,
  type RateLimitContext,
} from 'nestjs-valkey-rate-limit';
import { Limit, startLittle } from '../support/little.js';
import { refusalOf } from '../support/refusal.js';

const five = { algorithm: 'fixed-window', limit: 5, window: '1m' } as const;
const secret = 'at least sixteen characters';

/** What a key cannot do without, and what it is called when it is missing. */
const missing = [
  ['key.tenant()', key.tenant(), 'NO_TENANT', 'identify: { tenant: '],
  ['a tenant in a join', key.join(key.ip(), key.tenant()), 'NO_TENANT', 'identify: { tenant: '],
  ['a tenant deep in it', key.firstOf(key.join(key.tenant()), key.ip()), 'NO_TENANT', 'identify: { tenant: '],
  ['key.apiKey()', key.apiKey(), 'NO_SECRET', 'option secret'],
  ['an API key in firstOf', key.firstOf(key.apiKey(), key.ip()), 'NO_SECRET', 'option secret'],
] as const;

function shop(counting: KeyResolver, cost: Cost<RateLimitContext> = 1): Type {
  @Controller('shop')
  class Shop {
    @Get()
    @Limit({ ...five, key: counting, cost })
    list(): string {
      return '';
    }
  }
  return Shop;
}

describe('a key that could never be worked out is refused at boot:', () => {
  test.each(missing)('%s, in a policy of the module', async (_, counting, code, mend) => {
    const error = await refusalOf({ policies: { api: { ...five, key: counting } } });
    expect(error).toMatchObject({ code, where: 'policy "api"' });
    expect(error.message).toContain(mend);
  });

  test.each(missing)('%s, at a handler', async (_, counting, code, mend) => {
    const error = await refusalOf({}, shop(counting));
    expect(error).toMatchObject({ code, where: 'Shop.list' });
    expect(error.message).toContain(mend);
  });

  test('but not when the module has what it needs', async () => {
    const policies = Object.fromEntries(
      missing.map(([, counting], i) => [`p${i}`, { ...five, key: counting }]),
    );
    const limits = { policies, secret, identify: { tenant: () => 'acme' } };
    await startLittle('fastify', limits, [shop(key.join(key.tenant(), key.apiKey()))]);
  });

  test('nor in a program without requests, which works no key out', async () => {
    const limiter = await createRateLimiter({ policies: { api: { ...five, key: key.tenant() } } });
    expect(await limiter.consume('api', { key: 'acme' })).toMatchObject({ outcome: 'allowed' });
    await limiter.close();
  });
});

describe('what a function of the application needs is refused at boot where nobody can tell it:', () => {
  test.each([
    ['a text', 'user', '"user" (a string)'],
    ['null', null, 'null'],
    ['nothing but a name that there is not', ['usr'], 'an array'],
    ['a name that there is not beside one that is', ['user', 'account'], 'an array'],
  ])('%s', async (_, needs, shown) => {
    const own = () => Object.assign(() => 'me', { needs }) as never;
    const cost = Object.assign(() => 2, { needs });
    // Put together with others, a text is a list of one.
    const joined = typeof needs === 'string' ? own() : key.join(key.ip(), key.firstOf(own(), key.global()));
    for (const [where, boot] of [
      ['policy "api"', () => refusalOf({ policies: { api: { ...five, key: own() } } })],
      ['policy "api"', () => refusalOf({ policies: { api: { ...five, key: joined } } })],
      ['Shop.list', () => refusalOf({}, shop(own()))],
      ['Shop.list', () => refusalOf({}, shop(key.ip(), cost))],
    ] as const) {
      const error = await boot();
      expect(error).toMatchObject({ code: 'INVALID_NEEDS', where });
      expect(error.message).toContain("needs must be a list of 'user', 'tenant' and 'plan', not ");
    }
    const error = await refusalOf({}, shop(own()));
    expect(error.message).toContain(shown);
  });
});

describe('a secret is refused at boot that is', () => {
  test.each([
    ['short', 'hunter2 hunter2', 'one of 15'],
    ['empty', '', 'one of 0'],
    ['null', null, 'null'],
    ['a number', 1234567890123456, '1234567890123456'],
    ['bytes', Buffer.from(secret), 'an object'],
    ['a function', () => secret, 'a function'],
  ])('%s', async (_, wrong, shown) => {
    const error = await refusalOf({ secret: wrong });
    expect(error).toMatchObject({ code: 'INVALID_SECRET', where: 'RateLimitModule' });
    expect(error.message).toContain(`secret must be a text of at least 16 characters, not ${shown}.`);
    expect(error.message).not.toContain('hunter2');
  });
});

test.each([
  ['a text as tenant', { tenant: 'id' }],
  ['null as tenant', { tenant: null }],
])('identify: %s is refused at boot', async (_, identify) => {
  const error = await refusalOf({ identify });
  expect(error).toMatchObject({ code: 'INVALID_TENANT', where: 'RateLimitModule identify' });
});
