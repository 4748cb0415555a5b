import { describe, expect, test } from '@jest/globals';
import { startLittle } from '../support/little.js';
import { refusalOf } from '../support/refusal.js';

/** 15 digits, which is what a header field can carry (RFC 9651 §3.3.1). */
const LARGEST = 999_999_999_999_999;

const api = { algorithm: 'fixed-window', limit: 5, window: '1m' } as const;

describe('a policy is refused at boot', () => {
  const policy = (change: object) => refusalOf({ policies: { api: { ...api, ...change } } });

  describe.each(['fixed-window', 'token-bucket'])('with %s and', (algorithm) => {
    test.each([
      ['a text', '10', '"10" (a string)'],
      ['an empty text', '', '"" (a string)'],
      ['NaN', Number.NaN, 'NaN'],
      ['a negative', -1, '-1'],
      ['a fraction', 1.5, '1.5'],
      ['Infinity', Infinity, 'Infinity'],
      ['a number that a header field cannot carry', LARGEST + 1, String(LARGEST + 1)],
      ['nothing', undefined, 'missing'],
      ['null', null, ''],
      ['a boolean', true, 'true'],
      ['a bigint', 10n, '10'],
    ])('%s as limit', async (_, limit, shown) => {
      const error = await policy({ algorithm, limit });
      expect(error).toMatchObject({ code: 'INVALID_LIMIT', where: 'policy "api"' });
      expect(error.message).toContain(`limit must be a whole number from 0 to ${LARGEST}`);
      expect(error.message).toContain(shown);
      if (typeof limit === 'string') expect(error.message).toContain('Number(…)');
    });

    test.each([
      ['0', 0, '0'],
      ["'0s'", '0s', '"0s" (a string)'],
      ["'1.5s'", '1.5s', '"1.5s" (a string)'],
      ["'10x'", '10x', '"10x" (a string)'],
      ["'1000', a number as text", '1000', '"1000" (a string)'],
      ["'-1s'", '-1s', '"-1s" (a string)'],
      ["' 1m'", ' 1m', '" 1m" (a string)'],
      ["'1M'", '1M', '"1M" (a string)'],
      ["'1e3s'", '1e3s', '"1e3s" (a string)'],
      ["'m'", 'm', '"m" (a string)'],
      ['-1', -1, '-1'],
      ['0.5', 0.5, '0.5'],
      ['NaN', Number.NaN, 'NaN'],
      ['Infinity', Infinity, 'Infinity'],
      ['more than ten years', '3651d', '"3651d" (a string)'],
      ['nothing', undefined, 'missing'],
    ])('%s as window', async (_, window, shown) => {
      const error = await policy({ algorithm, window });
      expect(error).toMatchObject({ code: 'INVALID_WINDOW', where: 'policy "api"' });
      expect(error.message).toContain("window must be a duration such as '10s'");
      expect(error.message).toContain(shown);
    });
  });

  test.each(['10', -1, 1.5, Number.NaN, Infinity])('with %p as burst', async (burst) => {
    const error = await policy({ algorithm: 'token-bucket', burst });
    expect(error).toMatchObject({ code: 'INVALID_BURST', where: 'policy "api"' });
    expect(error.message).toContain(String(burst));
  });

  test('with numbers that could not be counted exactly', async () => {
    const error = await policy({ algorithm: 'token-bucket', limit: 10_000_019, window: '1ms' });
    expect(error).toMatchObject({ code: 'INEXACT', where: 'policy "api"' });
    expect(error.message).toContain('10000019');
    expect(error.message).toMatch(/fixed-window/);
  });

  test.each([['leaky-bukcet'], [''], [undefined], [null], [5], ['constructor'], ['__proto__']])(
    'with %p as algorithm',
    async (algorithm) => {
      const error = await policy({ algorithm });
      expect(error).toMatchObject({ code: 'INVALID_ALGORITHM', where: 'policy "api"' });
      expect(error.message).toContain(String(algorithm));
      expect(error.message).toMatch(/fixed-window.*token-bucket/);
    },
  );

  test.each([
    ["another algorithm's option", { burst: 3 }, 'burst'],
    ['a misspelt option', { windw: '1m' }, 'windw'],
    ["the module's option", { everyRoute: [] }, 'everyRoute'],
    ["the decorator's option", { name: 'x' }, 'name'],
    ["another package's option", { ttl: 1_000 }, 'ttl'],
  ])('with %s', async (_, change, name) => {
    const error = await policy(change);
    expect(error).toMatchObject({ code: 'UNKNOWN_OPTION', where: 'policy "api"' });
    expect(error.message).toContain(`"${name}"`);
    expect(error.message).toMatch(/Known: .*limit, window.*key/);
  });

  test.each([
    ['key', 'ip', '"ip" (a string)'],
    ['key', null, 'null'],
    ['cost', '2', '"2" (a string)'],
    ['cost', -1, '-1'],
    ['cost', Number.NaN, 'NaN'],
    ['cost', 0.5, '0.5'],
    ['onStoreFailure', 'fail', '"fail" (a string)'],
    ['onStoreFailure', true, 'true'],
  ])('with the %s %p', async (name, value, shown) => {
    const error = await policy({ [name]: value });
    const code = `INVALID_${name === 'onStoreFailure' ? 'ON_STORE_FAILURE' : name.toUpperCase()}`;
    expect(error).toMatchObject({ code, where: 'policy "api"' });
    expect(error.message).toContain(`${name} must be`);
    expect(error.message).toContain(shown);
  });

  test.each(['', 'Api', 'é', 'a b', '1a', '-a', 'a"b', 'a\nb', 'a,b', 'a'.repeat(65)])(
    'with the name %j',
    async (name) => {
      const error = await refusalOf({ policies: { [name]: api } });
      expect(error.code).toBe('INVALID_NAME');
      expect(error.message).toContain(JSON.stringify(name));
      expect(error.message).toContain('begins with a letter');
    },
  );

  test.each([
    ['null', null],
    ['a word', 'unlimited'],
    ['a list', []],
    ['a function', () => api],
  ])('that is %s', async (_, value) => {
    const error = await refusalOf({ policies: { api: value } });
    expect(error).toMatchObject({ code: 'OPTIONS', where: 'policy "api"' });
  });

  test('that is a promise', async () => {
    const error = await refusalOf({ policies: { api: Promise.resolve(api) } });
    expect(error.where).toBe('policy "api"');
  });
});

describe('a policy is taken that only looks wrong', () => {
  test.each([
    ['a limit of 0, which refuses everything', { limit: 0 }],
    ['a window of one millisecond', { window: 1 }],
    ['a window of ten years', { window: '3650d' }],
    ['the largest limit', { limit: LARGEST }],
    ['a name of 64 characters', {}, 'a'.repeat(64)],
    ['a name with everything that a name may have', {}, 'a0._-'],
  ] as const)('with %s', async (_, change, name = 'api') => {
    await startLittle('fastify', { policies: { [name]: { ...api, ...change } } }, []);
  });
});
