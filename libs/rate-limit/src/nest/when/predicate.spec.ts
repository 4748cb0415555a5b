import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { context } from '../../../testing/context.js';
import { RateLimitConfigError } from '../../decision/config-error.js';
import { ask, type Predicate } from './predicate.js';

const its = context({});
const WHERE = 'policy "login" skip';
const answering = (answer: unknown) => (() => answer) as Predicate;

/** What query builders give: it can be waited for, and is no promise. */
const thenable = (value: unknown) => ({
  // oxlint-disable-next-line unicorn/no-thenable
  then: (resolve: (settled: unknown) => void) => resolve(value),
});

describe('an answer', () => {
  test.each([
    [true, true],
    [false, false],
    [undefined, false],
    [null, false],
  ])('%p is %p, also when it has to be waited for', async (answer, expected) => {
    expect(ask(WHERE, answering(answer), its)).toBe(expected);
    const foreign: unknown = runInNewContext('Promise.resolve(answer)', { answer });
    for (const later of [Promise.resolve(answer), thenable(answer), thenable(thenable(answer)), foreign]) {
      const asked = ask(WHERE, answering(later), its);
      expect(asked).toBeInstanceOf(Promise);
      await expect(asked).resolves.toBe(expected);
    }
  });

  test.each([
    [1, 'not 1.'],
    [0, 'not 0.'],
    [Number.NaN, 'not NaN.'],
    ['', 'not a text.'],
    ['secret', 'not a text.'],
    ['false', 'not a text.'],
    [{}, 'not an object.'],
    [[], 'not an array.'],
    [() => true, 'not a function.'],
    [new Boolean(false), 'not an object.'],
  ])('%p is neither yes nor no, and an error', async (answer, got) => {
    const refusal = expect.objectContaining({
      code: 'INVALID_ANSWER',
      where: WHERE,
      message: expect.stringContaining(`its function must answer true or false, ${got}`),
    });
    const thrown = (() => {
      try {
        return ask(WHERE, answering(answer), its);
      } catch (error) {
        return error;
      }
    })();
    expect(thrown).toBeInstanceOf(RateLimitConfigError);
    expect(thrown).toEqual(refusal);
    await expect(ask(WHERE, answering(Promise.resolve(answer)), its)).rejects.toEqual(refusal);
  });

  test('that fails is the error of the application', async () => {
    const fails = () => {
      throw new Error('no such list');
    };
    expect(() => ask(WHERE, fails, its)).toThrow('no such list');
    const rejects = () => Promise.reject(new Error('no such list'));
    await expect(ask(WHERE, rejects, its)).rejects.toThrow('no such list');
  });
});
