import { expect, test } from '@jest/globals';
import { patternText } from './pattern-text.js';

test.each([
  ['sum', 'sum'],
  [7, '7'],
  [{ cmd: 'sum' }, '{"cmd":"sum"}'],
  [{ b: { d: 1, c: [2, { f: 3, e: 4 }] }, a: null }, '{"a":null,"b":{"c":[2,{"e":4,"f":3}],"d":1}}'],
])('%j is called %s', (pattern, text) => {
  expect(patternText(pattern)).toBe(text);
});

test('the order of members makes no difference', () => {
  expect(patternText({ a: 1, b: 2 })).toBe(patternText({ b: 2, a: 1 }));
});
