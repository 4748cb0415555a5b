import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { context } from '../../testing/context.js';
import { RateLimitConfigError } from '../decision/config-error.js';
import { key } from './key.js';
import type { KeyResolver } from './keys/resolver.js';

/** Answers what it was told, as a function of the application may, with or without TypeScript's consent. */
const says = (value: unknown): KeyResolver => (() => value) as unknown as KeyResolver;

const empty = context({});

/** Texts that could be mistaken for one another where parts are put together. */
const TRICKY = ['a', 'b', '|', '%', '%7C', '%25', '7C', 'a|', '|a', 'a|b', '%|', '|%', '=', 'a=b', '||', ' '];
const tricky = fc.oneof(
  fc.constantFrom(...TRICKY),
  fc.string({ unit: fc.constantFrom(...'|%7C25=a'), maxLength: 6 }),
  fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)) }),
);
const part = fc.option(tricky, { nil: undefined });

/** A part as it counts: empty is missing. */
const asCounted = (value: string | undefined) => (value === '' ? undefined : value);

const countedIp = (request: object, options?: { ipv6Prefix?: number }) => key.ip(options)(context(request));

const countedHeader = (name: string, headers: object) => key.header(name)(context({ headers }));

const countedBody = (path: string, body: unknown) => key.body(path)(context({ body }));

const joined = (...parts: [unknown, ...unknown[]]) => {
  const [first, ...more] = parts.map(says) as [KeyResolver, ...KeyResolver[]];
  return key.join(first, ...more)(empty);
};

const joinedTwice = (a: string, b: string, c: string) => key.join(key.join(says(a), says(b)), says(c))(empty);

const same = (a: unknown[], b: unknown[]) => a.every((value, index) => value === b[index]);

const failingUser = () => {
  throw new Error('no such session');
};

const refused = (make: () => unknown, message: RegExp) => {
  expect(make).toThrow(RateLimitConfigError);
  expect(make).toThrow(message);
};

describe('ip', () => {
  test.each(['1.2.3.4', '::ffff:1.2.3.4', '::ffff:102:304', '1.2.3.4:5555', '"1.2.3.4"'])(
    '%s is one client with all the spellings of its address',
    (ip) => {
      expect(countedIp({ ip })).toBe('1.2.3.4');
    },
  );

  test('another address is another client, and neighbours in one IPv6 /64 are one', () => {
    expect(countedIp({ ip: '::ffff:5.6.7.8' })).toBe('5.6.7.8');
    expect(countedIp({ ip: '2001:db8:0:1::1' })).toBe(countedIp({ ip: '2001:db8:0:1:ffff::2' }));
    expect(countedIp({ ip: '2001:db8:0:1::1' })).not.toBe(countedIp({ ip: '2001:db8:0:2::1' }));
  });

  test('the network may be larger or smaller', () => {
    const options = { ipv6Prefix: 48 };
    expect(countedIp({ ip: '2001:db8:0:1::1' }, options)).toBe(countedIp({ ip: '2001:db8:0:2::1' }, options));
    expect(countedIp({ ip: '2001:db8::1' }, { ipv6Prefix: 128 })).not.toBe(
      countedIp({ ip: '2001:db8::2' }, { ipv6Prefix: 128 }),
    );
  });

  test('is the address of the socket where the adapter reports none, and nobody where there is no socket', () => {
    const socket = { remoteAddress: '::ffff:9.8.7.6' };
    expect(countedIp({ ip: 'unknown', socket })).toBe('9.8.7.6');
    expect(countedIp({ socket })).toBe('9.8.7.6');
    expect(countedIp({ ip: '1.2.3.4', socket })).toBe('1.2.3.4');
    expect(countedIp({ ip: 'unknown', socket: {} })).toBeUndefined();
    expect(countedIp({ ip: 'unknown' })).toBeUndefined();
    expect(countedIp({})).toBeUndefined();
  });

  test('does not read X-Forwarded-For: that is for the adapter to trust or not', () => {
    const headers = { 'x-forwarded-for': '6.6.6.6', forwarded: 'for=6.6.6.6', 'x-real-ip': '6.6.6.6' };
    expect(countedIp({ ip: '1.2.3.4', headers })).toBe('1.2.3.4');
  });

  test.each([0, -1, 129, 1.5, Number.NaN, Infinity, '64', null, true, [64]])(
    'an ipv6Prefix of %p is refused at once',
    (ipv6Prefix) => {
      expect(() => key.ip({ ipv6Prefix: ipv6Prefix as number })).toThrow(RateLimitConfigError);
      expect(() => key.ip({ ipv6Prefix: ipv6Prefix as number })).toThrow(
        /key\.ip\(\): ipv6Prefix must be a whole number from 1 to 128/,
      );
    },
  );

  test.each([1, 64, 128])('an ipv6Prefix of %d is not', (ipv6Prefix) => {
    expect(() => key.ip({ ipv6Prefix })).not.toThrow();
  });
});

describe('user', () => {
  test.each([
    ['a text', 'anna', 'anna'],
    ['a number', 42, '42'],
    ['zero', 0, '0'],
    ['nothing', undefined, undefined],
    ['null', null, undefined],
    ['an empty text', '', undefined],
    ['an object', { toString: () => 'anna' }, undefined],
    ['a list', ['anna'], undefined],
  ])('whose id is %s', (_, id, counted) => {
    expect(key.user()(context({ user: { id } }))).toBe(counted);
  });

  test('is nobody where nobody is logged in', () => {
    for (const request of [{}, { user: undefined }, { user: null }, { user: {} }]) {
      expect(key.user()(context(request))).toBeUndefined();
    }
  });

  test.each(['anna', undefined])('is looked up once a request, however many keys ask (%p)', (id) => {
    let asked = 0;
    const its = context({}, { identify: { user: () => ((asked += 1), id) } });
    const both = key.join(key.user(), key.firstOf(key.user(), key.global()));
    both(its);
    both(its);
    expect(key.user()(its)).toBe(id);
    expect(asked).toBe(1);
  });

  test('is what identify says, and an error of that look-up is not swallowed', () => {
    const request = { user: { id: 'from the request' } };
    expect(key.user()(context(request, { identify: { user: () => 7 } }))).toBe('7');
    expect(() => key.user()(context(request, { identify: { user: failingUser } }))).toThrow(
      'no such session',
    );
  });
});

describe('header', () => {
  test('is found by its name, in capitals or not', () => {
    expect(countedHeader('X-Client', { 'x-client': 'abc' })).toBe('abc');
    expect(countedHeader('x-client', { 'x-client': 'abc' })).toBe('abc');
  });

  test('counts by the first, if it was sent several times', () => {
    expect(countedHeader('x-tenant', { 'x-tenant': ['a', 'b'] })).toBe('a');
    expect(countedHeader('x-tenant', { 'x-tenant': ['a'] })).toBe(
      countedHeader('x-tenant', { 'x-tenant': 'a' }),
    );
  });

  test.each([
    ['was not sent', {}],
    ['is empty', { 'x-tenant': '' }],
    ['was sent empty several times', { 'x-tenant': ['', ''] }],
    ['is an empty list', { 'x-tenant': [] }],
    ['is undefined', { 'x-tenant': undefined }],
  ])('is missing when it %s', (_, headers) => {
    expect(countedHeader('x-tenant', headers)).toBeUndefined();
  });

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'])(
    'is missing when only the prototype has it: %s',
    (name) => {
      expect(countedHeader(name, {})).toBeUndefined();
    },
  );
});

describe('body', () => {
  test.each([
    ['a text', 'username', { username: 'anna' }, 'anna'],
    ['a number', 'id', { id: 42 }, '42'],
    ['zero', 'id', { id: 0 }, '0'],
    ['a boolean', 'flag', { flag: false }, 'false'],
    ['a blank, which is a text like any', 'username', { username: ' ' }, ' '],
    ['a member of a member', 'account.email', { account: { email: 'a@b.c' } }, 'a@b.c'],
    ['a member of a member of a member', 'a.b.c', { a: { b: { c: 'd' } } }, 'd'],
    ['a member with an empty name', 'a.', { a: { '': 'b' } }, 'b'],
    ['a body without a prototype', 'x', Object.assign(Object.create(null), { x: 'y' }), 'y'],
  ])('counts by %s', (_, path, body, subject) => {
    expect(countedBody(path, body)).toBe(subject);
  });

  test.each([
    ['there is no body', undefined],
    ['the body is null', null],
    ['the body is a text', '{"username":"anna"}'],
    ['the body is a number', 5],
    ['the body is a list', [{ username: 'anna' }]],
    ['the body is bytes', Buffer.from('username')],
    ['the member is not there', { Username: 'anna' }],
    ['it is undefined', { username: undefined }],
    ['it is null', { username: null }],
    ['it is empty', { username: '' }],
    ['it is an object', { username: { $ne: '' } }],
    ['it is an object that calls itself a text', { username: { toString: () => 'anna' } }],
    ['it is a list', { username: ['anna'] }],
    ['it is an empty list', { username: [] }],
    ['it is a list in a list', { username: [['anna']] }],
    ['it is a text object', { username: Object('anna') }],
  ])('is missing when %s', (_, body) => {
    expect(countedBody('username', body)).toBeUndefined();
  });

  test('is missing where the way to it is no object', () => {
    for (const account of [undefined, null, 'email', 5, true, []]) {
      expect(countedBody('account.email', { account })).toBeUndefined();
    }
    expect(countedBody('account.length', { account: 'a text' })).toBeUndefined();
    expect(countedBody('account.0', { account: 'a text' })).toBeUndefined();
  });

  test.each([
    '__proto__',
    'constructor',
    'toString',
    'valueOf',
    'hasOwnProperty',
    'constructor.name',
    '__proto__.constructor.name',
    'a.__proto__',
    'a.constructor.name',
    'toString.name',
  ])('is missing when only the prototype has it: %s', (path) => {
    expect(countedBody(path, { a: {} })).toBeUndefined();
  });

  test('counts by a member that the client itself calls __proto__ or constructor', () => {
    expect(countedBody('__proto__', JSON.parse('{ "__proto__": "x" }'))).toBe('x');
    expect(countedBody('constructor.name', JSON.parse('{ "constructor": { "name": "x" } }'))).toBe('x');
  });

  test('does not take a polluted prototype for the body', () => {
    const body = Object.create({ username: 'everybody' }) as object;
    expect(countedBody('username', body)).toBeUndefined();
  });

  test('is a text that is not empty, or missing, for any JSON and any path', () => {
    const path = fc
      .array(
        fc.oneof(
          fc.string({ maxLength: 3 }),
          fc.constantFrom('__proto__', 'constructor', 'length', '0', 'a'),
        ),
        {
          minLength: 1,
          maxLength: 3,
        },
      )
      .map((names) => names.join('.'))
      .filter((name) => name !== '');
    fc.assert(
      fc.property(path, fc.jsonValue(), (name, body) => {
        const subject = countedBody(name, body);
        expect(subject === undefined || (typeof subject === 'string' && subject !== '')).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('global', () => {
  test('is the same for everybody, and is somebody', () => {
    const one = key.global()(context({ ip: '1.2.3.4' }));
    expect(one).toBe(key.global()(context({ ip: '5.6.7.8' })));
    expect(one).toMatch(/./);
  });
});

describe('join', () => {
  test('is readable', () => {
    const resolver = key.join(key.ip(), key.body('username'));
    expect(resolver(context({ ip: '::ffff:1.2.3.4', body: { username: 'anna' } }))).toBe('1.2.3.4|anna');
    expect(resolver(context({ ip: '1.2.3.4', body: {} }))).toBe('1.2.3.4|');
    expect(resolver(context({ body: { username: 'anna' } }))).toBe('|anna');
  });

  test('is never the same for two that differ: every pair of texts that could be mistaken', () => {
    const parts = [undefined, ...TRICKY, ...TRICKY.flatMap((one) => TRICKY.map((other) => one + other))];
    const distinct = [...new Set(parts)];
    const subjects = new Set<string | undefined>();
    for (const one of distinct) for (const other of distinct) subjects.add(joined(one, other));
    expect(subjects.size).toBe(distinct.length ** 2);
  });

  test('is never the same for two that differ, whatever the parts are', () => {
    const triple = fc.tuple(part, part, part);
    fc.assert(
      fc.property(triple, triple, fc.constantFrom('', '|', '%7C'), (one, other, between) => {
        // The same text with its borders moved: the nearest that there is to a collision.
        const [a, b, c] = one;
        const moved = [`${a ?? ''}${between}${b ?? ''}`, undefined, c] as const;
        for (const rival of [other, moved]) {
          expect(joined(...one) === joined(...(rival as typeof one))).toBe(
            same(one.map(asCounted), rival.map(asCounted)),
          );
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('is never the same for two that differ, when joins are joined', () => {
    const subjects = new Set(
      TRICKY.flatMap((a) => TRICKY.flatMap((b) => TRICKY.map((c) => joinedTwice(a, b, c)))),
    );
    expect(subjects.size).toBe(TRICKY.length ** 3);
  });

  test('takes an empty part for a missing one', () => {
    expect(joined('', 'a')).toBe(joined(undefined, 'a'));
    expect(joined(null, 'a')).toBe(joined(undefined, 'a'));
  });

  test('of nothing but missing parts is missing itself, so that firstOf goes on to the next', () => {
    expect(joined(undefined, undefined) ?? '').toBe('');
    const resolver = key.firstOf(key.join(key.header('x-tenant'), key.user()), key.ip());
    expect(resolver(context({ ip: '1.2.3.4' }))).not.toBe(resolver(context({ ip: '5.6.7.8' })));
  });

  test.each([[5], [{ a: 1 }], [['a']]])('does not break the request when a function answers %p', (value) => {
    // `(context) => context.request.body.id` compiles, and the client chooses what is there.
    expect(typeof joined('a', value)).toBe('string');
  });
});

describe('firstOf', () => {
  const resolver = key.firstOf(
    key.user(),
    key.header('x-tenant'),
    key.body('name'),
    key.ip(),
    ({ request }) => request['one'] as string | undefined,
    ({ request }) => request['two'] as string | undefined,
  );

  test('is the first that is there', () => {
    const all = {
      user: { id: '1' },
      headers: { 'x-tenant': 't' },
      body: { name: 'n' },
      ip: '1.2.3.4',
      one: 'o',
    };
    expect(resolver(context(all))).toMatch(/user=1$/);
    expect(resolver(context({ ...all, user: undefined }))).toMatch(/header\.x-tenant=t$/);
    expect(resolver(context({ body: { name: 'n' }, ip: '1.2.3.4' }))).toMatch(/body\.name=n$/);
    expect(resolver(context({ body: { name: '' }, ip: '1.2.3.4' }))).toMatch(/ip=1\.2\.3\.4$/);
    expect(resolver(context({ one: '', two: 'o' }))).toMatch(/key6=o$/);
    expect(resolver(context({ one: 'o', two: 'o' }))).toMatch(/key5=o$/);
  });

  test('is missing when none is there', () => {
    expect(resolver(empty)).toBeUndefined();
    expect(key.firstOf(says(undefined), says(''))(empty)).toBeUndefined();
  });

  test('does not ask those behind the first that is there', () => {
    const asked: string[] = [];
    const telling = (name: string, value: string | undefined) => () => (asked.push(name), value);
    key.firstOf(telling('a', undefined), telling('b', 'x'), telling('c', 'y'))(empty);
    expect(asked).toEqual(['a', 'b']);
  });

  test('is never the same for two that differ, by what they are or by where they come from', () => {
    const texts = [
      '1.2.3.4',
      'a',
      'user=a',
      'ip=1.2.3.4',
      'ip=a',
      'key5=a',
      'key6=a',
      'header.x-tenant=a',
      '=',
      '=a',
    ];
    const requests: object[] = texts.flatMap((text) => [
      { user: { id: text } },
      { headers: { 'x-tenant': text } },
      { body: { name: text } },
      { one: text },
      { two: text },
    ]);
    requests.push({ ip: '1.2.3.4' }, { ip: '2001:db8::1' });
    expect(new Set(requests.map((request) => resolver(context(request)))).size).toBe(requests.length);
  });

  test('is never the same for two that differ, whatever the texts are', () => {
    const request = fc.oneof(
      tricky.map((id) => ({ user: { id } })),
      tricky.map((tenant) => ({ headers: { 'x-tenant': tenant } })),
      tricky.map((one) => ({ one })),
      tricky.map((two) => ({ two })),
    );
    fc.assert(
      fc.property(request, request, (one, other) => {
        const [first, second] = [resolver(context(one)), resolver(context(other))];
        fc.pre(first !== undefined && second !== undefined);
        expect(first === second).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
      { numRuns: 1_000 },
    );
  });

  test('is never the same for the second of one firstOf and the first of another', () => {
    const nested = key.firstOf(
      key.firstOf(says(undefined), ({ request }) => request['a'] as string),
      key.firstOf(says(undefined), ({ request }) => request['b'] as string),
    );
    expect(nested(context({ a: 'x' }))).not.toBe(nested(context({ b: 'x' })));
  });

  test('is never the same for two joins of functions', () => {
    const nested = key.firstOf(
      key.join(({ request }) => request['a'] as string),
      key.join(({ request }) => request['b'] as string),
    );
    expect(nested(context({ a: 'x' }))).not.toBe(nested(context({ b: 'x' })));
  });

  test('is never the same for two members of the body, whatever they are called', () => {
    const either = key.firstOf(key.body('a'), key.body('a=b'));
    expect(either(context({ body: { a: 'b=1' } }))).not.toBe(either(context({ body: { 'a=b': '1' } })));
  });

  test.each([[null], [{ a: 1 }], [['a']]])('takes %p, which is no text, for missing', (value) => {
    // `(context) => context.request.user?.id ?? null` compiles.
    expect(key.firstOf(says(value), key.ip())(context({ ip: '1.2.3.4' }))).toMatch(/ip=1\.2\.3\.4$/);
  });
});

describe('what types cannot see', () => {
  const make = key as unknown as Record<string, (...args: unknown[]) => unknown>;

  test.each([[undefined], [null], [''], [5], [['x']], [{}]])(
    'a header or body called %p is refused',
    (name) => {
      refused(() => make['header']!(name), /^key\.header\(\): needs a name, not /);
      refused(() => make['body']!(name), /^key\.body\(\): needs a name, not /);
    },
  );

  test.each(['join', 'firstOf'])('%s of nothing is refused', (name) => {
    refused(
      () => make[name]!(),
      new RegExp(`^key\\.${name}\\(\\): needs key functions such as key\\.ip\\(\\)`),
    );
  });

  test.each(
    ['join', 'firstOf'].flatMap((name) =>
      [undefined, null, 'ip', 5, {}, [key.ip()]].map((wrong) => [name, wrong] as const),
    ),
  )('%s of %p is refused', (name, wrong) => {
    const message = new RegExp(`^key\\.${name}\\(\\): needs key functions such as key\\.ip\\(\\), not `);
    refused(() => make[name]!(wrong), message);
    refused(() => make[name]!(key.ip(), wrong), message);
    refused(() => make[name]!(wrong, key.ip()), message);
  });
});
