import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { context } from '../../../testing/context.js';
import { RateLimitConfigError } from '../../decision/config-error.js';
import { key } from '../key.js';
import { keyedHash } from '../keyed-hash.js';

const SECRET = 'a secret for the tests';
const hash = keyedHash(SECRET);

const counted = (headers: object, header?: string) =>
  key.apiKey(header === undefined ? {} : { header })(context({ headers }, { hash }));
const bearer = (authorization: unknown) => counted({ authorization }, 'Authorization');

/** What can stand in a header: what Node lets through. */
const fieldText = fc.string({
  unit: fc.integer({ min: 0x21, max: 0xff }).map((code) => String.fromCharCode(code)),
  minLength: 1,
});
const apiKeys = fieldText.filter((text) => !text.includes(','));

describe('tenant', () => {
  test.each([
    ['a text', 'acme', 'acme'],
    ['a number', 42, '42'],
    ['zero', 0, '0'],
    ['nothing', undefined, undefined],
    ['null', null, undefined],
    ['an empty text', '', undefined],
    ['an object', { id: 'acme' }, undefined],
  ])('whose id is %s', (_, id, subject) => {
    const identify = { tenant: () => id as string };
    expect(key.tenant()(context({}, { identify }))).toBe(subject);
  });

  test('is nobody where nothing tells it, whatever the request says', () => {
    const request = { tenant: { id: 'acme' }, user: { id: 'ada', tenant: 'acme' } };
    expect(key.tenant()(context(request))).toBeUndefined();
  });

  test.each(['acme', undefined])('is looked up once a request, however many keys ask (%p)', (id) => {
    let asked = 0;
    const its = context({}, { identify: { tenant: () => ((asked += 1), id) } });
    const both = key.join(key.tenant(), key.firstOf(key.tenant(), key.global()));
    both(its);
    both(its);
    expect(key.tenant()(its)).toBe(id);
    expect(asked).toBe(1);
  });

  test('that cannot be looked up is an error of its own', () => {
    const tenant = () => {
      throw new Error('no such session');
    };
    expect(() => key.tenant()(context({}, { identify: { tenant } }))).toThrow('no such session');
  });

  test('may be looked up by the user', () => {
    const identify = { user: () => 'ada', tenant: ({ user }: { user: unknown }) => `of ${String(user)}` };
    expect(key.tenant()(context({}, { identify }))).toBe('of ada');
  });
});

describe('apiKey', () => {
  test('is a hash, alike in every process and version, so that a deployment forgets nobody', () => {
    const derived = createHmac('sha256', SECRET).update('nestjs-valkey-rate-limit: secrets in keys').digest();
    const digest = createHmac('sha256', derived).update('abc', 'utf16le').digest('base64url');
    expect(counted({ 'x-api-key': 'abc' })).toBe(digest.slice(0, 22));
    expect(counted({ 'x-api-key': 'abc' })).toBe('_IarIw_EL1IvJSh8oa4vpA');
  });

  test('has 132 bits of the hash, and nothing of the key', () => {
    fc.assert(
      fc.property(apiKeys, (text) => {
        const subject = counted({ 'x-api-key': text })!;
        expect(subject).toMatch(/^[\w-]{22}$/);
        if (text.length > 3) expect(subject).not.toContain(text);
      }),
    );
  });

  test('is another for every other key, and for every other secret', () => {
    const other = keyedHash(`${SECRET}!`);
    fc.assert(
      fc.property(apiKeys, apiKeys, (one, two) => {
        expect(counted({ 'x-api-key': one }) === counted({ 'x-api-key': two })).toBe(one === two);
        expect(other(one)).not.toBe(hash(one));
      }),
    );
    const units = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code));
    expect(new Set(units.map(hash)).size).toBe(units.length);
  });

  test('is the same in whichever header it is', () => {
    expect(counted({ 'x-key': 'abc' }, 'X-Key')).toBe(counted({ 'x-api-key': 'abc' }));
    expect(bearer('Bearer abc')).toBe(counted({ 'x-api-key': 'abc' }));
  });

  test('in Authorization is what follows Bearer, however that is written', () => {
    for (const value of ['Bearer abc', 'bearer abc', 'BEARER abc', 'Bearer   abc', 'Bearer\tabc', 'abc']) {
      expect(bearer(value)).toBe(hash('abc'));
    }
    for (const value of ['Bearerabc', 'Basic abc', 'Token abc', 'x Bearer abc']) {
      expect(bearer(value)).toBe(hash(value));
    }
    expect(counted({ 'x-api-key': 'Bearer abc' })).toBe(hash('Bearer abc'));
  });

  test.each([
    ['was not sent', undefined],
    ['is empty', ''],
    ['was sent several times', 'abc, def'],
    ['was sent several times with one value', 'abc, abc'],
    ['is a list', ['abc', 'def']],
    ['is an empty list', []],
  ])('is nobody when it %s', (_, value) => {
    expect(counted({ 'x-api-key': value })).toBeUndefined();
    expect(bearer(value)).toBeUndefined();
  });

  test.each(['Bearer', 'bearer ', 'Bearer\t', 'Bearer a, Bearer b'])('is nobody for %j', (value) => {
    expect(bearer(value)).toBeUndefined();
  });

  test.each(['__proto__', 'constructor', 'toString'])(
    'is nobody when only the prototype has it: %s',
    (name) => {
      expect(counted({}, name)).toBeUndefined();
    },
  );

  test('is not counted as it is where there is no secret, not even in a function of the application', () => {
    const mine = (its: Parameters<ReturnType<typeof key.apiKey>>[0]) => key.apiKey()(its);
    expect(() => mine(context({ headers: { 'x-api-key': 'abc' } }))).toThrow(RateLimitConfigError);
    expect(() => mine(context({}))).toThrow(/^context\.hash\(\): .*option secret/);
  });

  test.each([null, '', 5, ['x'], {}, 'x api key', 'x:key', 'schlüssel'])(
    'in a header called %p is refused at once',
    (header) => {
      expect(() => key.apiKey({ header: header as string })).toThrow(RateLimitConfigError);
      expect(() => key.apiKey({ header: header as string })).toThrow(/^key\.apiKey\(\): /);
    },
  );

  test('with options that do not exist is refused at once', () => {
    expect(() => key.apiKey({ name: 'x-api-key' } as object)).toThrow(/there is no option "name" here/);
    expect(() => key.apiKey('x-api-key' as unknown as object)).toThrow(/options must be an object/);
  });
});

describe('context.hash', () => {
  test('is for secrets of the application', () => {
    expect(context({}, { hash }).hash('abc')).toBe(hash('abc'));
  });

  test.each([undefined, null, '', {}, ['abc']])('of %p is nobody', (value) => {
    expect(context({}, { hash }).hash(value as string)).toBeUndefined();
  });
});
