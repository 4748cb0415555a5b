import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { context } from '../../../testing/context.js';
import { RateLimitConfigError } from '../../decision/config-error.js';
import { key } from '../key.js';
import { keyedHash } from '../keyed-hash.js';
import type { KeyResolver } from '../keys/resolver.js';
import { when } from '../when.js';

const ofTenant = (tenant: unknown) => context({}, { identify: { tenant: () => tenant as string } });
const evil = when.key(key.tenant(), ['evil', 'worse']);

describe('a key', () => {
  test.each([
    ['evil', true],
    ['worse', true],
    ['acme', false],
    ['Evil', false],
    ['evil ', false],
    ['', false],
    [undefined, false],
    ['__proto__', false],
    ['constructor', false],
  ])('%p: %p', (tenant, expected) => {
    expect(evil(ofTenant(tenant))).toBe(expected);
  });

  test('is one of the values exactly if it is among them', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string({ minLength: 1 })),
        fc.string({ minLength: 1 }),
        (values, other) => {
          const asked = when.key(({ request }) => request.method, values);
          for (const value of values) expect(asked(context({ method: value }))).toBe(true);
          expect(asked(context({ method: other }))).toBe(values.includes(other));
        },
      ),
    );
  });

  test('may be one of any number', () => {
    const values = Array.from({ length: 100_000 }, (_, index) => `tenant-${index}`);
    const asked = when.key(key.tenant(), values);
    expect(asked(ofTenant('tenant-99999'))).toBe(true);
    expect(asked(ofTenant('tenant-100000'))).toBe(false);
  });

  test('is none of no values', () => {
    expect(when.key(key.tenant(), [])(ofTenant('evil'))).toBe(false);
    expect(when.key(key.tenant(), [])(ofTenant(undefined))).toBe(false);
  });

  test('is compared with values that were read once', () => {
    const values = ['evil'];
    const asked = when.key(key.tenant(), values);
    values[0] = 'acme';
    expect(asked(ofTenant('evil'))).toBe(true);
    expect(asked(ofTenant('acme'))).toBe(false);
  });

  test('may be a function of the application, and a number is read as policies count it', () => {
    const asked = when.key(({ request }) => request['user']?.id, ['42']);
    expect(asked(context({ user: { id: 42 } }))).toBe(true);
    expect(asked(context({ user: { id: '42' } }))).toBe(true);
    expect(asked(context({ user: { id: 43 } }))).toBe(false);
    expect(asked(context({}))).toBe(false);
  });

  test('that fails is an error of its own', () => {
    const fails = () => {
      throw new Error('no such session');
    };
    expect(() => when.key(fails, ['evil'])(context({}))).toThrow('no such session');
  });

  test('that is a secret is compared by its hash', () => {
    const hash = keyedHash('a secret for the tests');
    const asked = when.key(key.apiKey(), [hash('abc')]);
    expect(asked(context({ headers: { 'x-api-key': 'abc' } }, { hash }))).toBe(true);
    expect(asked(context({ headers: { 'x-api-key': 'abcd' } }, { hash }))).toBe(false);
    expect(asked(context({}, { hash }))).toBe(false);
  });
});

describe('what it needs', () => {
  const mine = (() => 'me') as KeyResolver;
  const saying = Object.assign(() => 'me', { needs: ['user'] as const });

  test.each<[string, KeyResolver, object]>([
    ['tenant', key.tenant(), { needs: ['tenant'], hashes: false, head: false, own: false }],
    ['header', key.header('x'), { needs: [], hashes: false, head: true, own: false }],
    ['apiKey', key.apiKey(), { needs: [], hashes: true, head: true, own: false }],
    ['join', key.join(key.ip(), key.user()), { needs: ['user'], hashes: false, head: false, own: false }],
    ['a function', mine, { needs: [], hashes: false, head: false, own: true }],
    ['a function that says so', saying, { needs: ['user'], hashes: false, head: false, own: false }],
    ['join with a function', key.join(key.ip(), mine), { needs: [], hashes: false, head: false, own: true }],
  ])('is that of its key: %s', (_, resolver, traits) => {
    const { needs, hashes, head, own } = when.key(resolver, []);
    expect({ needs, hashes, head, own }).toEqual(traits);
  });

  test('is not written on the key', () => {
    const untouched = () => 'me';
    when.key(untouched, ['me']);
    expect(Object.keys(untouched)).toEqual([]);
  });
});

describe('what is refused at once', () => {
  const refusal = (resolver: unknown, values: unknown) => {
    try {
      when.key(resolver as KeyResolver, values as string[]);
    } catch (error) {
      expect(error).toBeInstanceOf(RateLimitConfigError);
      return error as RateLimitConfigError;
    }
    throw new Error('not refused');
  };

  test.each([undefined, null, 'tenant', 5, {}, ['evil'], key])('%p for a key', (resolver) => {
    const { code, message } = refusal(resolver, ['evil']);
    expect(code).toBe('INVALID_KEY');
    expect(message).toMatch(/^when\.key\(\): needs a key function such as key\.tenant\(\), not /);
  });

  test('key.ip(), whose values are networks in one spelling', () => {
    expect(refusal(key.ip(), ['1.2.3.4'])).toMatchObject({ code: 'INVALID_KEY' });
    expect(refusal(key.ip(), ['1.2.3.4']).message).toMatch(/Use when\.network\(/);
  });

  test.each([undefined, null, 'evil', 5, {}, new Set(['evil']), () => ['evil']])(
    '%p for values',
    (values) => {
      const { code, message } = refusal(key.tenant(), values);
      expect(code).toBe('INVALID_VALUES');
      expect(message).toMatch(/^when\.key\(\): needs a list of texts, not /);
    },
  );

  test.each([
    ['', /not "" \(a string\)\.$/],
    [undefined, /not undefined\.$/],
    [null, /not null\.$/],
    [5, /not 5\. Convert it first: String\(…\)\.$/],
    [['evil'], /not an array\.$/],
    [/evil/, /not an object\.$/],
  ])('%p for a value', (value, mend) => {
    const { code, message } = refusal(key.tenant(), ['evil', value]);
    expect(code).toBe('INVALID_VALUES');
    expect(message).toMatch(/^when\.key\(\): value 2 must be a text that is not empty, /);
    expect(message).toMatch(mend);
  });

  test('an API key where its hash should be, without a word of what it says', () => {
    const { code, message } = refusal(key.apiKey(), ['_IarIw_EL1IvJSh8oa4vpA', 'sk_live_abc']);
    expect(code).toBe('INVALID_VALUES');
    expect(message).toMatch(/^when\.key\(\): value 2 is no hash/);
    expect(message).not.toContain('sk_live');
  });
});
