import { describe, expect, test } from '@jest/globals';
import { createRateLimiter } from 'nestjs-valkey-rate-limit';
import { startLittle } from '../support/little.js';
import { refusalOf } from '../support/refusal.js';

const flag = (name: string, value: string) => `${name} must be true or false, not ${value}.`;
const top = (value: string) => `top must be a whole number from 10 to 1000, not ${value}.`;
const refusals = (value: string) =>
  "refusals must be a duration such as '10s', '1m', '1h' or a whole number of milliseconds, from 1000 to 86400000 ms, " +
  `not ${value}.`;

describe('what telemetry cannot do is refused at boot', () => {
  test.each<[unknown, string, string]>([
    [{ metrics: 'yes' }, 'INVALID_METRICS', flag('metrics', '"yes" (a string)')],
    [{ metrics: null }, 'INVALID_METRICS', flag('metrics', 'null')],
    [{ metrics: 1 }, 'INVALID_METRICS', flag('metrics', '1')],
    [{ traces: 'off' }, 'INVALID_TRACES', flag('traces', '"off" (a string)')],
    [{ serverTiming: 0 }, 'INVALID_SERVER_TIMING', flag('serverTiming', '0')],
    [{ exposeKeys: 'false' }, 'INVALID_EXPOSE_KEYS', flag('exposeKeys', '"false" (a string)')],
    [{ top: 9 }, 'INVALID_TOP', top('9')],
    [{ top: 1_001 }, 'INVALID_TOP', top('1001')],
    [{ top: 10.5 }, 'INVALID_TOP', top('10.5')],
    [{ top: true }, 'INVALID_TOP', top('true')],
    [{ top: null }, 'INVALID_TOP', top('null')],
    [{ top: '100' }, 'INVALID_TOP', `${top('"100" (a string)')} Convert it first: Number(…).`],
    [{ refusals: 999 }, 'INVALID_REFUSALS', refusals('999')],
    [{ refusals: '25h' }, 'INVALID_REFUSALS', refusals('"25h" (a string)')],
    [{ refusals: 'never' }, 'INVALID_REFUSALS', refusals('"never" (a string)')],
    [{ refusals: false }, 'INVALID_REFUSALS', refusals('false')],
    [{ refusals: null }, 'INVALID_REFUSALS', refusals('null')],
    [
      { metric: true },
      'UNKNOWN_OPTION',
      'there is no option "metric" here. Known: metrics, traces, serverTiming, exposeKeys, top, refusals.',
    ],
    [null, 'OPTIONS', 'options must be an object, not null.'],
    [[], 'OPTIONS', 'options must be an object, not an array.'],
    [true, 'OPTIONS', 'options must be an object, not true.'],
  ])('%j', async (telemetry, code, message) => {
    const error = await refusalOf({ telemetry });
    expect([error.code, error.message]).toEqual([code, `RateLimitModule telemetry: ${message}`]);
    // And without an application.
    await expect(createRateLimiter({ telemetry: telemetry as never })).rejects.toMatchObject({ code });
  });

  test.each([
    {},
    { top: 10, refusals: '1s' },
    { top: 1_000, refusals: '1d' },
    { refusals: 'off' },
    { metrics: false, traces: false, serverTiming: false, exposeKeys: false },
    { metrics: true, traces: true, serverTiming: true, exposeKeys: true },
  ] as const)('%j works', async (telemetry) => {
    await startLittle('fastify', { telemetry }, []);
  });
});
