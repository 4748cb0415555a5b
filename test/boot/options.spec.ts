import { describe, expect, test } from '@jest/globals';
import { RateLimitModule } from 'nestjs-valkey-rate-limit';
import { little } from '../support/little.js';
import { refusal, refusalOf } from '../support/refusal.js';

const api = { algorithm: 'fixed-window', limit: 5, window: '1m' } as const;

describe("the module's options are refused at boot", () => {
  test.each([
    ['deadline', 0, 'INVALID_DEADLINE'],
    ['deadline', '0s', 'INVALID_DEADLINE'],
    ['deadline', '11s', 'INVALID_DEADLINE'],
    ['deadline', '50', 'INVALID_DEADLINE'],
    ['deadline', -1, 'INVALID_DEADLINE'],
    ['deadline', 0.5, 'INVALID_DEADLINE'],
    ['deadline', Number.NaN, 'INVALID_DEADLINE'],
    ['deadline', Infinity, 'INVALID_DEADLINE'],
    ['prefix', '', 'INVALID_PREFIX'],
    ['prefix', 'a b', 'INVALID_PREFIX'],
    ['prefix', 'a{b', 'INVALID_PREFIX'],
    ['prefix', '*', 'INVALID_PREFIX'],
    ['prefix', 'x'.repeat(33), 'INVALID_PREFIX'],
    ['prefix', 5, 'INVALID_PREFIX'],
    ['headers', 'draft-7', 'INVALID_HEADERS'],
    ['headers', 'toString', 'INVALID_HEADERS'],
    ['headers', true, 'INVALID_HEADERS'],
    ['headers', false, 'INVALID_HEADERS'],
    ['onStoreFailure', 'fail', 'INVALID_ON_STORE_FAILURE'],
    ['onStoreFailure', 'OPEN', 'INVALID_ON_STORE_FAILURE'],
    ['onStoreFailure', false, 'INVALID_ON_STORE_FAILURE'],
    ['problem', {}, 'INVALID_PROBLEM'],
    ['problem', 'too fast', 'INVALID_PROBLEM'],
    ['policies', [], 'INVALID_POLICIES'],
    ['policies', 'api', 'INVALID_POLICIES'],
    ['policies', 5, 'INVALID_POLICIES'],
    ['policies', () => ({}), 'INVALID_POLICIES'],
    ['policies', new Map([['api', api]]), 'INVALID_POLICIES'],
    ['everyRoute', 'api', 'INVALID_EVERY_ROUTE'],
    ['everyRoute', {}, 'INVALID_EVERY_ROUTE'],
    ['everyRoute', true, 'INVALID_EVERY_ROUTE'],
    ['everyRoute', new Set(['api']), 'INVALID_EVERY_ROUTE'],
  ])('%s: %p', async (name, value, code) => {
    const error = await refusalOf({ policies: { api }, [name]: value });
    expect(error).toMatchObject({ code, where: 'RateLimitModule' });
    expect(error.message).toContain(`${name} must be`);
  });

  test.each([
    ['a function', () => 'ada', 'OPTIONS'],
    ['a text', 'user', 'OPTIONS'],
    ['a text as user', { user: 'id' }, 'INVALID_USER'],
    ['null as user', { user: null }, 'INVALID_USER'],
    ['something else to identify', { account: () => 'ada' }, 'UNKNOWN_OPTION'],
  ])('identify: %s', async (_, identify, code) => {
    const error = await refusalOf({ identify });
    expect(error).toMatchObject({ code, where: 'RateLimitModule identify' });
  });

  test.each([
    ['an option that does not exist', { store: 'memory' }, 'store'],
    ["a policy's options", { algorithm: 'fixed-window', limit: 5, window: '1m' }, 'algorithm'],
    ['a misspelt option', { policy: {} }, 'policy'],
  ])('%s', async (_, options, name) => {
    const error = await refusalOf(options);
    expect(error).toMatchObject({ code: 'UNKNOWN_OPTION', where: 'RateLimitModule' });
    expect(error.message).toContain(`"${name}"`);
    expect(error.message).toMatch(/Known: .*policies.*valkey/);
  });

  test.each([[null], [[]], ['valkey://127.0.0.1:6379'], [5]])('when they are %p', async (options) => {
    expect(await refusalOf(options)).toMatchObject({ code: 'OPTIONS', where: 'RateLimitModule' });
  });

  test.each([
    ['api2', '"api2" (a string)'],
    ['Api', '"Api" (a string)'],
    [undefined, 'undefined'],
    [{ ...api }, 'an object'],
  ])('everyRoute: [%p]', async (name, shown) => {
    const error = await refusalOf({ policies: { api }, everyRoute: [name] });
    expect(error).toMatchObject({ code: 'UNKNOWN_POLICY', where: 'RateLimitModule everyRoute' });
    expect(error.message).toContain(shown);
    expect(error.message).toContain('Configured: "api"');
  });

  test('everyRoute that names a policy twice', async () => {
    const error = await refusalOf({ policies: { api }, everyRoute: ['api', 'api'] });
    expect(error).toMatchObject({ code: 'REPEATED_POLICY' });
    expect(error.message).toContain('"api"');
  });
});

test('options that a factory gives are refused like any other', async () => {
  const limits = RateLimitModule.forRootAsync({
    useFactory: () => Promise.resolve({ policies: { api: { ...api, limit: '10' as never } } }),
  });
  expect(await refusal(little({ imports: [limits] }))).toMatchObject({ code: 'INVALID_LIMIT' });
  const nothing = RateLimitModule.forRootAsync({ useFactory: () => undefined as never });
  expect(await refusal(little({ imports: [nothing] }))).toMatchObject({ code: 'NO_OPTIONS' });
});
