import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { parseDuration } from './duration.js';

const MILLISECONDS = { ms: 1n, s: 1_000n, m: 60_000n, h: 3_600_000n, d: 86_400_000n } as const;
const UNITS = Object.keys(MILLISECONDS) as (keyof typeof MILLISECONDS)[];

describe('parseDuration', () => {
  test.each([
    ['250ms', 250],
    ['10s', 10_000],
    ['1m', 60_000],
    ['1h', 3_600_000],
    ['30d', 2_592_000_000],
    ['0s', 0],
    ['007s', 7_000],
    [1_500, 1_500],
    [0, 0],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ])('%p is %d ms', (written, milliseconds) => {
    expect(parseDuration(written)).toBe(milliseconds);
  });

  test('a whole number with a unit is exact, or no duration where it would not be', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.nat(1_000_000), fc.integer({ min: 0, max: 999_999_999_999_999 })),
        fc.constantFrom(...UNITS),
        (amount, unit) => {
          const exact = BigInt(amount) * MILLISECONDS[unit];
          const expected = exact <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(exact) : undefined;
          expect(parseDuration(`${amount}${unit}`)).toBe(expected);
        },
      ),
    );
  });

  test.each([
    ['a fraction', '1.5s'],
    ['a fraction of a millisecond', '0.5ms'],
    ['a sign', '-1s'],
    ['a plus sign', '+1s'],
    ['an exponent', '1e3s'],
    ['a hexadecimal number', '0x10s'],
    ['an underscore', '1_000s'],
    ['no number', 's'],
    ['no unit', '60'],
    ['nothing', ''],
    ['a blank', ' '],
    ['a week', '1w'],
    ['a year', '1y'],
    ['a word', '1 minute'],
    ['a capital unit', '1M'],
    ['a blank before the unit', '1 m'],
    ['a blank in front', ' 1m'],
    ['a blank behind', '1m '],
    ['a line break behind', '1m\n'],
    ['a line before', '1m\n1m'],
    ['two durations', '1h30m'],
    ['an ISO 8601 duration', 'PT1M'],
    ['Arabic-Indic digits', '١s'],
    ['more digits than any duration has', `${'0'.repeat(20)}1s`],
    ['a duration that is too long to be exact', '999999999999999d'],
  ])('text with %s is no duration', (_, written) => {
    expect(parseDuration(written)).toBeUndefined();
  });

  test.each([
    ['a fraction', 1.5],
    ['a fraction of a millisecond', 0.1],
    ['a negative number', -1],
    ['NaN', Number.NaN],
    ['infinity', Infinity],
    ['a number that is not exact', 2 ** 53],
    ['a bigint', 1_000n],
    ['a boolean', true],
    ['null', null],
    ['nothing', undefined],
    ['a list', ['1m']],
    ['a number object', Object(1_000)],
    ['a text object', Object('1m')],
    ['a date', new Date(0)],
    ['an object with valueOf', { valueOf: () => 1_000, toString: () => '1m' }],
    ['a function', () => '1m'],
    ['a symbol', Symbol('1m')],
  ])('%s is no duration', (_, value) => {
    expect(parseDuration(value)).toBeUndefined();
  });

  test('whatever it is given, it answers an exact number from 0 or nothing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.stringMatching(/^[\d.eE+ -]{0,6}(ms|s|m|h|d)?$/)), (value) => {
        const milliseconds = parseDuration(value);
        expect(milliseconds === undefined || (Number.isSafeInteger(milliseconds) && milliseconds >= 0)).toBe(
          true,
        );
      }),
    );
  });
});
