import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { requestCost } from './request-cost.js';

describe('the cost of a request', () => {
  test('is the whole number from 0 that the function answers', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (cost) => {
        expect(requestCost(cost)).toBe(cost);
      }),
    );
    expect(requestCost(0)).toBe(0);
    expect(requestCost(Number.MAX_SAFE_INTEGER)).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('may be written as text, as it stands in a query', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (cost) => {
        expect(requestCost(String(cost))).toBe(Math.max(1, cost));
      }),
    );
    expect(requestCost(' 7 ')).toBe(7);
    expect(requestCost('007')).toBe(7);
  });

  test('is at least 1 when it is text: a client must not ask for a free request', () => {
    for (const free of ['0', '-0', '0x0', '0e9', '0.0']) expect(requestCost(free)).toBe(1);
  });

  test('is rounded up, and what is beyond numbers is more than any limit', () => {
    expect(requestCost(1.5)).toBe(2);
    expect(requestCost('10.5')).toBe(11);
    for (const huge of [2 ** 53, 1e300, Infinity, '9007199254740992', '1e300', 'Infinity']) {
      expect(requestCost(huge)).toBe(Number.MAX_SAFE_INTEGER);
    }
  });
  test.each([
    ['nothing', undefined],
    ['null', null],
    ['an empty text', ''],
    ['blanks', ' \t\n'],
    ['text', 'many'],
    ['a number and text', '10 pages'],
    ['two numbers', '1,2'],
    ['a negative number', -1],
    ['a negative number as text', '-5'],
    ['a very negative number', -Number.MAX_SAFE_INTEGER],
    ['a fraction as text', '0.5'],
    ['a tiny fraction', Number.MIN_VALUE],
    ['NaN', Number.NaN],
    ['NaN as text', 'NaN'],
    ['minus infinity', -Infinity],
    ['minus infinity as text', '-Infinity'],
    ['true', true],
    ['false', false],
    ['a list', ['5']],
    ['an empty list, which is 0 in arithmetic', []],
    ['an object', { pages: 5 }],
    ['an object that is a number in arithmetic', { valueOf: () => 0 }],
    ['a date', new Date(0)],
    ['a function', () => 0],
    ['a symbol', Symbol('0')],
  ])('is 1 for %s', (_, answer) => {
    expect(requestCost(answer)).toBe(1);
  });

  test('is a whole number from 0 whatever the function answers: it neither breaks the request nor gives back', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.string(), fc.double(), fc.double().map(String)), (answer) => {
        const cost = requestCost(answer);
        expect(Number.isSafeInteger(cost) && cost >= 0).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });
});
