import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { openLimiter } from '../limiter.js';
import { openMemory } from '../place.js';
import { RATE_ALGORITHMS } from '../policies.js';
import { peakOf } from './peak.js';
import {
  COLUMNS,
  DEFAULT_SCENARIO,
  KEYS,
  MOST_IN_COLUMN,
  MOST_LIMIT,
  PRESETS,
  RETRIES,
  type Scenario,
  SIDE_BY_SIDE,
  spanOf,
} from './scenario.js';
import { fromQuery, toQuery } from './share.js';
import { beginOf, MOST_ATTEMPTS, type Run, simulate } from './simulate.js';
import { POLICY, told } from './told.js';
import { arrivals, columnsOf } from './traffic.js';

const scenarios: fc.Arbitrary<Scenario> = fc.record({
  limit: fc.integer({ min: 1, max: MOST_LIMIT }),
  windowMs: fc.integer({ min: 1, max: 3_600 }).map((seconds) => seconds * 1_000),
  burst: fc.option(fc.integer({ min: 1, max: MOST_LIMIT }), { nil: undefined }),
  traffic: fc.oneof(
    fc.constantFrom(...PRESETS),
    fc.array(fc.integer({ min: 0, max: MOST_IN_COLUMN }), { minLength: COLUMNS, maxLength: COLUMNS }),
  ),
  retries: fc.constantFrom(...RETRIES),
  key: fc.constantFrom(...KEYS),
});

function scenario(changes: Partial<Scenario>): Scenario {
  return { ...DEFAULT_SCENARIO, ...changes };
}

function runOf(runs: readonly Run[], algorithm: Run['algorithm']): Run {
  return runs.find((run) => run.algorithm === algorithm)!;
}

describe('the five side by side', () => {
  test('decide as the library does that applications use, in every scenario', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async (any) => {
        for (const { algorithm, requests } of simulate(any)) {
          const { limit, windowMs, burst } = any;
          const isBucket = algorithm === 'token-bucket' || algorithm === 'leaky-bucket';
          const policy = { algorithm, limit, window: windowMs, ...(isBucket && burst && { burst }) };
          const limiter = await openLimiter(openMemory(), { [POLICY]: policy }, beginOf(any));
          for (const { at, client, verdict } of requests) {
            const key = any.key === 'everyone' ? 'all' : String(client);
            expect(await limiter.consume(POLICY, key, at)).toMatchObject(verdict);
          }
        }
      }),
      { numRuns: 10 },
    );
  }, 120_000);

  test('show a level that is never above the capacity, and what the last request left', () => {
    fc.assert(
      fc.property(scenarios, (any) => {
        for (const { levels, capacity, requests } of simulate(any)) {
          for (const key of levels.values()) {
            for (const { used } of key) {
              expect(used).toBeGreaterThanOrEqual(0);
              expect(used).toBeLessThanOrEqual(capacity);
            }
          }
          const last = requests.at(-1);
          if (last === undefined) continue;
          const level = levels.get(any.key === 'everyone' ? 0 : last.client)!;
          const then = level.findLast(({ at }) => at <= last.at)!;
          expect(then.used).toBe(capacity - last.verdict.remaining);
        }
      }),
      { numRuns: 10 },
    );
  });

  test('at the edge of two windows: twice the limit by the clock, the limit by the log', () => {
    const runs = simulate(scenario({ traffic: 'edge' }));
    expect(runs.map(({ algorithm }) => algorithm)).toEqual(SIDE_BY_SIDE);
    expect(SIDE_BY_SIDE).toEqual(RATE_ALGORITHMS);
    expect(runOf(runs, 'fixed-window')).toMatchObject({
      allowed: 20,
      refused: 0,
      worstWindow: { count: 20 },
    });
    expect(runOf(runs, 'sliding-log')).toMatchObject({
      allowed: 10,
      refused: 10,
      worstWindow: { count: 10 },
    });
    expect(runOf(runs, 'leaky-bucket')).toMatchObject({ worstSecond: { count: 1 }, longestWaitMs: 8_888 });
  });

  test('a bucket holds its burst, and nothing else has one', () => {
    const runs = simulate(scenario({ traffic: 'burst', burst: 3 }));
    expect(runs.map(({ capacity }) => capacity)).toEqual([10, 10, 10, 3, 3]);
    expect(runOf(runs, 'token-bucket').worstSecond.count).toBe(3);
    expect(runOf(runs, 'fixed-window').worstSecond.count).toBe(10);
  });

  test('a noisy neighbour harms nobody else where each has a limit of its own', () => {
    const refusedOf = (key: Scenario['key']) =>
      simulate(scenario({ traffic: 'noisy-neighbour', key })).map(
        ({ requests }) =>
          requests.filter(({ client, outcome }) => client === 0 && outcome === 'refused').length,
      );
    expect(refusedOf('client')).toEqual([0, 0, 0, 0, 0]);
    for (const refused of refusedOf('everyone')) expect(refused).toBeGreaterThan(0);
  });

  test('whoever waits as Retry-After says gets through a window, and whoever does not comes in vain', () => {
    const fixed = (retries: Scenario['retries']) =>
      runOf(simulate(scenario({ traffic: 'retrying-client', retries })), 'fixed-window');
    expect(fixed('none').requests).toHaveLength(15);
    const honest = fixed('honest').requests.filter(({ attempt }) => attempt > 1);
    expect(honest.map(({ at, outcome }) => [at, outcome])).toEqual(
      Array.from({ length: 5 }, () => [10_000, 'allowed']),
    );
    const impatient = fixed('impatient').requests.filter(({ attempt }) => attempt > 1);
    expect(impatient).toHaveLength(5 * (MOST_ATTEMPTS - 1));
    expect(impatient.every(({ outcome }) => outcome === 'refused')).toBe(true);
  });
});

describe('what a client is told', () => {
  const any = scenario({ traffic: 'burst', limit: 2 });

  test('is what the library writes', () => {
    const run = runOf(simulate(any), 'fixed-window');
    const [first, , third] = run.requests.map((request) => told(run, request, any));
    expect(first).toEqual({
      status: 200,
      fields: [
        ['RateLimit-Policy', '"api";q=2;w=10'],
        ['RateLimit', '"api";r=1;t=8'],
      ],
    });
    expect(third!.status).toBe(429);
    expect(Object.fromEntries(third!.fields)).toMatchObject({
      RateLimit: '"api";r=0;t=7',
      'Retry-After': '7',
    });
    expect(third!.problem).toMatchObject({ status: 429, 'violated-policies': ['api'] });
  });
});

describe('traffic', () => {
  test('lies in the time that is shown, in order', () => {
    fc.assert(
      fc.property(scenarios, (any) => {
        const times = arrivals(any).map(({ at }) => at);
        expect(times).toEqual(times.toSorted((one, other) => one - other));
        for (const at of times) {
          expect(Number.isInteger(at)).toBe(true);
          expect(at).toBeGreaterThanOrEqual(0);
          expect(at).toBeLessThan(spanOf(any));
        }
      }),
    );
  });

  test('begins as a drawing with as many requests as the preset has', () => {
    for (const traffic of PRESETS) {
      const columns = columnsOf(scenario({ traffic }));
      expect(columns).toHaveLength(COLUMNS);
      expect(columns.reduce((sum, count) => sum + count, 0)).toBe(arrivals(scenario({ traffic })).length);
    }
  });
});

describe('an address', () => {
  test('says all of a scenario', () => {
    fc.assert(
      fc.property(scenarios, (any) => {
        expect(fromQuery(new URLSearchParams(toQuery(any).toString()))).toEqual(any);
      }),
    );
  });

  test('that says what cannot be is as if it said nothing', () => {
    const nothing = fromQuery(new URLSearchParams());
    expect(nothing).toEqual(DEFAULT_SCENARIO);
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=1e1',
      'limit=-1',
      'limit=١٠',
      'window=3601',
      'window=0.5',
      'window=999999999999999999999',
      'burst=0',
      'burst=x',
      'traffic=12',
      `traffic=${'x'.repeat(COLUMNS)}`,
      'traffic=__proto__',
      'retries=toString',
      'key=',
    ]) {
      expect(fromQuery(new URLSearchParams(query))).toEqual(DEFAULT_SCENARIO);
    }
  });
});

test('a peak is the stretch, its end left out, in which most lie', () => {
  expect(peakOf([], 1_000)).toEqual({ from: 0, to: 1_000, count: 0 });
  expect(peakOf([5_000, 0, 900, 1_000, 1_899, 1_900], 1_000)).toEqual({ from: 900, to: 1_900, count: 3 });
});
