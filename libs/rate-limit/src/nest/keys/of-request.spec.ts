import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { context } from '../../../testing/context.js';
import { RateLimitConfigError } from '../../decision/config-error.js';
import { key } from '../key.js';

const counted = (name: string, params: unknown) => key.param(name)(context({ params }));

describe('param', () => {
  test('is the parameter of that name', () => {
    expect(counted('id', { id: '7', other: '8' })).toBe('7');
    // As Express makes it.
    expect(counted('id', Object.assign(Object.create(null), { id: '7' }))).toBe('7');
    expect(counted('*', { '*': 'a/b' })).toBe('a/b');
  });

  test.each([
    ['there are none', undefined],
    ['it is another', { Id: '7' }],
    ['it is empty', { id: '' }],
    ['it is a list, as a wildcard is in Express', { id: ['a', 'b'] }],
    ['they are a text', 'id'],
  ])('is missing when %s', (_, params) => {
    expect(counted('id', params)).toBeUndefined();
  });

  test.each(['__proto__', 'constructor', 'toString'])(
    'is missing when only the prototype has it: %s',
    (name) => {
      expect(counted(name, { id: '7' })).toBeUndefined();
    },
  );

  test('is a text or missing, whatever the request looks like', () => {
    fc.assert(
      fc.property(fc.anything(), fc.string({ minLength: 1 }), (params, name) => {
        expect(['string', 'undefined']).toContain(typeof counted(name, params));
      }),
    );
  });
});

describe('route', () => {
  test('is what the context says', () => {
    expect(key.route()(context({}, { route: 'GET:/products/:id' }))).toBe('GET:/products/:id');
  });

  test('counts apart beside another', () => {
    const both = key.join(key.ip(), key.route());
    const at = (route: string) => both(context({ ip: '1.2.3.4' }, { route }));
    expect(at('GET:/a')).toBe('1.2.3.4|GET:/a');
    expect(at('GET:/a')).not.toBe(at('GET:/b'));
  });
});

describe('header', () => {
  test.each(['Authorization', 'proxy-authorization', 'Cookie', 'X-API-Key'])(
    '%s is refused: a secret must not stand in Valkey',
    (name) => {
      expect(() => key.header(name)).toThrow(RateLimitConfigError);
      expect(() => key.header(name)).toThrow(
        new RegExp(`^key\\.header\\(\\): "${name.toLowerCase()}" carries a secret, .* Use key\\.apiKey\\(`),
      );
    },
  );

  test.each(['x client', 'x:client', 'x-client\n', 'größe', ' x', '{}'])(
    '%j is refused: no header has it',
    (name) => {
      expect(() => key.header(name)).toThrow(/^key\.header\(\): no header can be called /);
    },
  );
});

test.each([[undefined], [null], [''], [5], [['x']], [{}]])('a parameter called %p is refused', (name) => {
  expect(() => key.param(name as string)).toThrow(/^key\.param\(\): needs a name, not /);
});
