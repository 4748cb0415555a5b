import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { RateLimitConfigError } from './config-error.js';
import { OptionReader } from './option-reader.js';

const WHERE = 'policy "login"';
const LIMIT = { min: 0, max: Number.MAX_SAFE_INTEGER };
const WINDOW = { min: 1, max: 315_360_000_000 };

const reader = (options: unknown) => new OptionReader(WHERE, options);

/** The error that a reading is refused with; anything else fails the test. */
function refusal(read: () => unknown): RateLimitConfigError {
  try {
    read();
  } catch (error) {
    expect(error).toBeInstanceOf(RateLimitConfigError);
    return error as RateLimitConfigError;
  }
  throw new Error('was not refused');
}

const limit = (value: unknown) => () => reader({ limit: value }).integer('limit', LIMIT);
const window = (value: unknown) => () => reader({ window: value }).duration('window', WINDOW);

const optional = (key: unknown) => () =>
  reader({ key }).optionalFunction('key', 'a function such as key.ip()');

const neverCalled = () => {
  throw new Error('was called');
};

describe('an options object', () => {
  test.each([
    ['nothing', undefined, 'not undefined'],
    ['null', null, 'not null'],
    ['a text', 'token-bucket', 'not "token-bucket" (a string)'],
    ['a number', 10, 'not 10'],
    ['a list', [{ limit: 1 }], 'not an array'],
    ['a function', () => ({ limit: 1 }), 'not a function'],
    ['a boolean', true, 'not true'],
  ])('that is %s is refused', (_, options, got) => {
    const error = refusal(() => reader(options));
    expect(error).toMatchObject({ code: 'OPTIONS', where: WHERE });
    expect(error.message).toBe(`${WHERE}: options must be an object, ${got}.`);
  });

  test('may be without a prototype, or an instance of a class', () => {
    class Options {
      limit = 3;
    }
    expect(reader(new Options()).integer('limit', LIMIT)).toBe(3);
    expect(reader(Object.assign(Object.create(null), { limit: 3 })).integer('limit', LIMIT)).toBe(3);
  });

  test('is refused for every option that nobody read, with those that there are', () => {
    const options = reader({ limit: 1, window: '1s', burts: 2, key: undefined });
    options.integer('limit', LIMIT);
    options.duration('window', WINDOW);
    options.value('burst');
    const error = refusal(() => options.done());
    expect(error).toMatchObject({ code: 'UNKNOWN_OPTION', where: WHERE });
    expect(error.message).toBe(
      `${WHERE}: there is no option "burts", "key" here. Known: limit, window, burst.`,
    );
  });

  test('is not refused for options that were read and are not there', () => {
    const options = reader({ limit: 1 });
    options.integer('limit', LIMIT);
    options.value('burst');
    expect(() => options.done()).not.toThrow();
  });

  test('is refused for a member that a JSON file calls __proto__ or constructor', () => {
    for (const name of ['__proto__', 'constructor', 'toString']) {
      const options = reader(JSON.parse(`{ "limit": 1, "${name}": 2 }`));
      options.integer('limit', LIMIT);
      expect(refusal(() => options.done()).message).toContain(`there is no option "${name}" here`);
    }
  });
});

describe('a whole number', () => {
  test('is read as it is, from the lowest to the highest', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.maxSafeInteger(), fc.maxSafeInteger(), (a, b, value) => {
        const range = { min: Math.min(a, b), max: Math.max(a, b) };
        const read = () => reader({ limit: value }).integer('limit', range);
        if (value >= range.min && value <= range.max) expect(read()).toBe(value);
        else
          expect(read).toThrow(
            `limit must be a whole number from ${range.min} to ${range.max}, not ${value}`,
          );
      }),
    );
    for (const edge of [LIMIT.min, LIMIT.max]) expect(limit(edge)()).toBe(edge);
  });

  test.each([
    ['NaN', Number.NaN, 'not NaN.'],
    ['a negative number', -1, 'not -1.'],
    ['a fraction', 1.5, 'not 1.5.'],
    ['infinity', Infinity, 'not Infinity.'],
    ['minus infinity', -Infinity, 'not -Infinity.'],
    ['a number that is not exact', 2 ** 53, 'not 9007199254740992.'],
    ['a number as text', '10', 'not "10" (a string). Convert it first: Number(…).'],
    ['text', 'ten', 'not "ten" (a string). Convert it first: Number(…).'],
    ['an empty text', '', 'not "" (a string). Convert it first: Number(…).'],
    ['a boolean', true, 'not true.'],
    ['a list', [10], 'not an array.'],
    ['an object', { valueOf: () => 10 }, 'not an object.'],
    ['a number object', Object(10), 'not an object.'],
    ['a function', () => 10, 'not a function.'],
    ['a promise', Promise.resolve(10), 'not a promise.'],
    ['a symbol', Symbol('ten'), 'not Symbol(ten).'],
    ['left out', undefined, 'and it is missing.'],
  ])(
    'that is %s is refused, and the message says where, what, which value and how to mend it',
    (_, value, got) => {
      const error = refusal(limit(value));
      expect(error).toMatchObject({ code: 'INVALID_LIMIT', where: WHERE });
      expect(error.message).toBe(`${WHERE}: limit must be a whole number from 0 to 9007199254740991, ${got}`);
    },
  );

  test('that is a bigint is refused with its type: "not 10" alone would explain nothing', () => {
    expect(refusal(limit(10n)).message).toMatch(/not 10n|bigint/);
  });

  test('that is null is refused as null and not as missing', () => {
    expect(refusal(limit(null)).message).toContain('not null');
  });

  test('that is far too long a text does not fill the log', () => {
    expect(refusal(limit('9'.repeat(10_000))).message.length).toBeLessThan(300);
  });

  test('that is left out is the fallback, and the fallback has to be in range as well', () => {
    expect(reader({}).integer('burst', LIMIT, 7)).toBe(7);
    expect(reader({ burst: 0 }).integer('burst', LIMIT, 7)).toBe(0);
    expect(refusal(() => reader({}).integer('burst', { min: 10, max: 20 }, 7)).message).toContain('not 7');
  });
});

describe('a duration', () => {
  test.each([
    ['1m', 60_000],
    ['1ms', 1],
    [1_500, 1_500],
    ['3650d', WINDOW.max],
    [WINDOW.max, WINDOW.max],
  ])('%p is %d ms', (written, milliseconds) => {
    expect(window(written)()).toBe(milliseconds);
  });

  test.each([
    ['0', 0, 'not 0.'],
    ['minus 0', -0, 'not 0.'],
    ['0 with a unit', '0s', 'not "0s" (a string).'],
    ['a fraction of a millisecond', 0.5, 'not 0.5.'],
    ['a fraction of a millisecond as text', '0.5ms', 'not "0.5ms" (a string).'],
    ['a fraction', '1.5s', 'not "1.5s" (a string).'],
    ['negative', -1_000, 'not -1000.'],
    ['negative as text', '-1s', 'not "-1s" (a string).'],
    ['NaN', Number.NaN, 'not NaN.'],
    ['infinity', Infinity, 'not Infinity.'],
    ['a number without a unit, as text', '60', 'not "60" (a string).'],
    ['another unit', '1w', 'not "1w" (a string).'],
    ['longer than the longest', WINDOW.max + 1, 'not 315360000001.'],
    ['longer than the longest, as text', '3651d', 'not "3651d" (a string).'],
    ['a list', ['1m'], 'not an array.'],
    ['an object', { minutes: 1 }, 'not an object.'],
    ['a function', () => '1m', 'not a function.'],
    ['left out', undefined, 'and it is missing.'],
  ])(
    'that is %s is refused, and the message says where, what, which value and how it is written',
    (_, value, got) => {
      const error = refusal(window(value));
      expect(error).toMatchObject({ code: 'INVALID_WINDOW', where: WHERE });
      expect(error.message).toBe(
        `${WHERE}: window must be a duration such as '10s', '1m', '1h' or a whole number of milliseconds, ` +
          `from 1 to 315360000000 ms, ${got}`,
      );
    },
  );

  test('that is left out is the fallback', () => {
    expect(reader({}).duration('deadline', { min: 1, max: 10_000 }, 50)).toBe(50);
    expect(reader({ deadline: '1s' }).duration('deadline', { min: 1, max: 10_000 }, 50)).toBe(1_000);
  });
});

describe('a word', () => {
  const words = ['open', 'closed', 'local'] as const;
  const mode = (options: object) => () => reader(options).oneOf('onStoreFailure', words, 'local');

  test('is one of those that there are, and the fallback where it is left out', () => {
    expect(mode({ onStoreFailure: 'open' })()).toBe('open');
    expect(mode({})()).toBe('local');
  });

  test.each([
    ['another', 'fail', 'not "fail" (a string)'],
    ['in capitals', 'Open', 'not "Open" (a string)'],
    ['followed by a blank', 'open ', 'not "open " (a string)'],
    ['empty', '', 'not "" (a string)'],
    ['a boolean', false, 'not false'],
    ['a number', 0, 'not 0'],
    ['a list', ['open'], 'not an array'],
    ['a function', () => 'open', 'not a function'],
  ])('that is %s is refused with the words that there are', (_, onStoreFailure, got) => {
    const error = refusal(mode({ onStoreFailure }));
    expect(error).toMatchObject({ code: 'INVALID_ON_STORE_FAILURE', where: WHERE });
    expect(error.message).toBe(`${WHERE}: onStoreFailure must be 'open' or 'closed' or 'local', ${got}.`);
  });
});

describe('a function', () => {
  test('may be left out, and is not called', () => {
    expect(optional(neverCalled)()).toBe(neverCalled);
    expect(optional(undefined)()).toBeUndefined();
    expect(reader({}).optionalFunction('key', 'a function')).toBeUndefined();
  });

  test.each([
    ['a text', 'ip', 'not "ip" (a string)'],
    ['null', null, 'not null'],
    ['an object', {}, 'not an object'],
    ['a promise', Promise.resolve(() => 'x'), 'not a promise'],
    ['a boolean', false, 'not false'],
  ])('that is %s is refused', (_, value, got) => {
    const error = refusal(optional(value));
    expect(error).toMatchObject({ code: 'INVALID_KEY', where: WHERE });
    expect(error.message).toBe(`${WHERE}: key must be a function such as key.ip(), ${got}.`);
  });
});

describe('null', () => {
  // A configuration service answers null for what is not set; so does JSON. Types refuse it.
  test.each([
    ['a whole number', () => reader({ burst: null }).integer('burst', LIMIT, 7)],
    ['a duration', () => reader({ deadline: null }).duration('deadline', WINDOW, 50)],
    ['a word', () => reader({ onStoreFailure: null }).oneOf('onStoreFailure', ['open', 'local'], 'local')],
    ['a function', () => reader({ key: null }).optionalFunction('key', 'a function')],
  ])('is refused for %s that may be left out', (_, read) => {
    expect(refusal(read).message).toContain('not null');
  });
});

test('every refusal is a RateLimitConfigError, whatever the value is', () => {
  fc.assert(
    fc.property(fc.anything(), (value) => {
      const options = { option: value };
      for (const read of [
        () => reader(value),
        () => reader(options).integer('option', LIMIT),
        () => reader(options).duration('option', WINDOW),
        () => reader(options).oneOf('option', ['a', 'b'], 'a'),
        () => reader(options).optionalFunction('option', 'a function'),
        () => reader(options).done(),
      ]) {
        try {
          read();
        } catch (error) {
          expect(error).toBeInstanceOf(RateLimitConfigError);
          expect((error as Error).message.startsWith(`${WHERE}: `)).toBe(true);
        }
      }
    }),
  );
});
