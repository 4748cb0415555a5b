import { validateHeaderName, validateHeaderValue } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { type Parameters, parseItem, parseList, serializeList } from 'structured-headers';
import { RateLimitConfigError } from '../../decision/config-error.js';
import { compilePolicy } from '../../limiter/policy.js';
import {
  announce,
  type AnnouncedPolicy,
  type CountedDecision,
  type HeaderDialect,
} from '../header-dialect.js';
import { dialects } from './index.js';

/** RFC 9651 §3.3.1: an Integer has at most 15 digits. */
const MAX_INTEGER = 999_999_999_999_999;
const NOW = 1_000_000_000_123;

/** One policy and what was decided by it. */
interface Case {
  readonly policy: AnnouncedPolicy;
  readonly decision: CountedDecision;
}

interface Numbers {
  limit?: number;
  windowMs?: number;
  remaining?: number;
  nextMs?: number;
  resetMs?: number;
}

function caseOf(name: string, outcome: CountedDecision['outcome'], numbers: Numbers = {}): Case {
  const { limit = 10, windowMs = 60_000, remaining = 4, nextMs = 0, resetMs = 0 } = numbers;
  const counted = { policy: name, limit, store: 'memory', at: 0, remaining, nextMs, resetMs } as const;
  return {
    policy: { name, quota: { limit, windowMs, unit: 'requests' } },
    decision:
      outcome === 'allowed'
        ? { ...counted, outcome, delayMs: 0, cost: 1 }
        : { ...counted, outcome, cost: 0, retryAfterMs: nextMs > 0 ? nextMs : undefined },
  };
}

const allowed = (name: string, numbers?: Numbers) => caseOf(name, 'allowed', numbers);
const denied = (name: string, numbers?: Numbers) => caseOf(name, 'denied', numbers);

/** The fields that a dialect sets, each once and each fit to be sent. */
function fields(dialect: HeaderDialect, cases: readonly Case[]): Record<string, string> {
  const written = new Map<string, string>();
  dialect.write(
    cases.map(({ decision }) => decision),
    cases.map(({ policy }) => announce(dialect, policy)),
    (name, value) => {
      expect([...written.keys()].map((other) => other.toLowerCase())).not.toContain(name.toLowerCase());
      validateHeaderName(name);
      validateHeaderValue(name, value);
      written.set(name, value);
    },
  );
  return Object.fromEntries(written);
}

const name = fc.stringMatching(/^[a-z][a-z0-9._-]*$/);
const amount = fc.oneof(fc.nat(20), fc.nat(1_000_000), fc.integer({ min: 0, max: MAX_INTEGER }));
const time = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 1, max: 3_000 }),
  fc.integer({ min: 1, max: 1_000_000 }).map((seconds) => seconds * 1_000),
  fc.integer({ min: 1, max: 315_360_000_000 }),
);
const numbers = fc.record({
  limit: amount,
  windowMs: time.map((windowMs) => windowMs || 1),
  remaining: amount,
  nextMs: time,
  resetMs: time,
});
const cases = fc.uniqueArray(
  fc
    .tuple(name, fc.constantFrom('allowed' as const, 'denied' as const), numbers)
    .map(([policy, outcome, its]) => caseOf(policy, outcome, its)),
  { minLength: 1, maxLength: 4, selector: ({ policy }) => policy.name },
);

const seconds = (milliseconds: number) => Number((BigInt(milliseconds) + 999n) / 1_000n);

/** What draft-11 says of a policy. */
const policyParameters = ({ policy: { quota } }: Case): Parameters =>
  new Map(
    quota.windowMs! % 1_000 === 0
      ? [
          ['q', quota.limit],
          ['w', quota.windowMs! / 1_000],
        ]
      : [['q', quota.limit]],
  );
/** What draft-11 says of a decision. */
const limitParameters = ({ decision: { remaining, nextMs } }: Case): Parameters =>
  new Map(
    nextMs > 0
      ? [
          ['r', remaining],
          ['t', seconds(nextMs)],
        ]
      : [['r', remaining]],
  );
/** What a response tells: everything when it was allowed, the violated policies when it was not. */
const told = (all: readonly Case[]) => {
  const violated = all.filter(({ decision }) => decision.outcome === 'denied');
  return violated.length > 0 ? violated : all;
};

describe('draft-11', () => {
  const dialect = dialects['draft-11'];

  test('writes what its comment shows', () => {
    expect(
      fields(dialect, [
        allowed('burst', { limit: 100, windowMs: 60_000, remaining: 50, nextMs: 30_000 }),
        allowed('daily', { limit: 1_000, windowMs: 86_400_000, remaining: 1_000 }),
      ]),
    ).toEqual({
      'RateLimit-Policy': '"burst";q=100;w=60, "daily";q=1000;w=86400',
      RateLimit: '"burst";r=50;t=30, "daily";r=1000',
    });
  });

  test('writes both fields as the package structured-headers would', () => {
    fc.assert(
      fc.property(cases, (all) => {
        expect(fields(dialect, all)).toEqual({
          'RateLimit-Policy': serializeList(all.map((one) => [one.policy.name, policyParameters(one)])),
          RateLimit: serializeList(told(all).map((one) => [one.policy.name, limitParameters(one)])),
        });
      }),
      { numRuns: 500 },
    );
  });

  test('is read back as Lists of Strings with Integers, the same that went in', () => {
    fc.assert(
      fc.property(cases, (all) => {
        const written = fields(dialect, all);
        // A String is read as a string and a Token is not; an Integer as a whole number.
        expect(parseList(written['RateLimit-Policy']!)).toEqual(
          all.map((one) => [one.policy.name, policyParameters(one)]),
        );
        expect(parseList(written['RateLimit']!)).toEqual(
          told(all).map((one) => [one.policy.name, limitParameters(one)]),
        );
      }),
      { numRuns: 500 },
    );
  });

  test('tells every policy on an allowed response, also the one without any left', () => {
    const { RateLimit } = fields(dialect, [
      allowed('burst', { remaining: 0, nextMs: 1 }),
      allowed('daily', { remaining: 7 }),
    ]);
    expect(RateLimit).toBe('"burst";r=0;t=1, "daily";r=7');
  });

  test('lists the violated policies of a refusal only, and announces them all', () => {
    const written = fields(dialect, [
      allowed('daily', { remaining: 7, nextMs: 36_000_000 }),
      denied('burst', { remaining: 0, nextMs: 1_500 }),
      allowed('weekly'),
      denied('search', { remaining: 2, nextMs: 10 }),
    ]);
    expect(written['RateLimit']).toBe('"burst";r=0;t=2, "search";r=2;t=1');
    expect(written['RateLimit-Policy']).toBe(
      '"daily";q=10;w=60, "burst";q=10;w=60, "weekly";q=10;w=60, "search";q=10;w=60',
    );
  });

  test.each([
    [1_000, '"p";q=10;w=1'],
    [60_000, '"p";q=10;w=60'],
    [315_360_000_000, '"p";q=10;w=315360000'],
    [1, '"p";q=10'],
    [250, '"p";q=10'],
    [999, '"p";q=10'],
    [1_001, '"p";q=10'],
    [1_500, '"p";q=10'],
  ])('a window of %d ms is announced as %s: w is whole seconds or is left out', (windowMs, written) => {
    expect(fields(dialect, [allowed('p', { windowMs })])['RateLimit-Policy']).toBe(written);
  });

  test.each([
    [0, '"p";r=4'],
    [1, '"p";r=4;t=1'],
    [999, '"p";r=4;t=1'],
    [1_000, '"p";r=4;t=1'],
    [1_001, '"p";r=4;t=2'],
  ])(
    'an effective window of %d ms is told as %s: rounded up, and left out when there is none',
    (nextMs, written) => {
      expect(fields(dialect, [allowed('p', { nextMs })])['RateLimit']).toBe(written);
    },
  );

  test('a limit of 0 is told as it is', () => {
    expect(fields(dialect, [denied('off', { limit: 0, remaining: 0 })])).toEqual({
      'RateLimit-Policy': '"off";q=0;w=60',
      RateLimit: '"off";r=0',
    });
  });

  /** The fields for the first look at a policy, or `undefined` where boot refuses its numbers. */
  function fieldsOf(options: object): Record<string, string> | undefined {
    try {
      const { rule } = compilePolicy('api', 'policy "api"', options, 'local');
      const verdict = rule.allowed(rule.step(undefined, NOW, { cost: 0 }).reading, 0);
      return fields(dialect, [
        allowed('api', { limit: rule.quota.limit, windowMs: rule.quota.windowMs!, ...verdict }),
      ]);
    } catch (error) {
      expect(error).toBeInstanceOf(RateLimitConfigError);
      return undefined;
    }
  }

  test.each([
    ['limit', { algorithm: 'fixed-window', limit: MAX_INTEGER + 1, window: '1m' }],
    ['limit', { algorithm: 'fixed-window', limit: Number.MAX_SAFE_INTEGER, window: '1m' }],
    ['burst', { algorithm: 'token-bucket', limit: 1_000, window: '1s', burst: MAX_INTEGER + 1 }],
  ])(
    'a %s of more than 15 digits, which would void the whole field, is refused or told smaller',
    (_, options) => {
      const written = fieldsOf(options);
      for (const field of Object.values(written ?? {})) expect(() => parseList(field)).not.toThrow();
    },
  );

  test('whatever numbers boot lets through, the fields can be read', () => {
    let read = 0;
    fc.assert(
      fc.property(
        fc.constantFrom('fixed-window', 'token-bucket'),
        fc.oneof(fc.nat(1_000), fc.integer({ min: 0, max: MAX_INTEGER })),
        fc.integer({ min: 1, max: 315_360_000_000 }),
        (algorithm, limit, window) => {
          const written = fieldsOf({ algorithm, limit, window });
          if (written === undefined) return;
          read += 1;
          expect(parseList(written['RateLimit-Policy']!)[0]![1].get('q')).toBe(limit);
          expect(parseList(written['RateLimit']!)[0]![1].get('r')).toBe(limit);
        },
      ),
    );
    expect(read).toBeGreaterThan(20);
  });
});

/** Limit, remaining and reset of the decisions that could be told: the violated before the others, the least remaining. */
function tightestOf(all: readonly Case[]): [limit: number, remaining: number, reset: number][] {
  const decisions = told(all).map(({ decision }) => decision);
  const least = Math.min(...decisions.map(({ remaining }) => remaining));
  return decisions
    .filter(({ remaining }) => remaining === least)
    .map(({ limit, remaining, resetMs }) => [limit, remaining, seconds(resetMs)]);
}

const mixed = [
  allowed('daily', { limit: 1_000, windowMs: 86_400_000, remaining: 0, resetMs: 36_000_000 }),
  denied('search', { limit: 20, windowMs: 1_000, remaining: 3, resetMs: 800 }),
  denied('burst', { limit: 100, windowMs: 60_000, remaining: 2, resetMs: 30_001 }),
];

describe('draft-6', () => {
  const dialect = dialects['draft-6'];

  test('tells the tightest policy in three fields, and all in the fourth', () => {
    const all = [
      allowed('burst', { limit: 100, windowMs: 60_000, remaining: 50, resetMs: 30_000 }),
      allowed('second', { limit: 10, windowMs: 1_000, remaining: 9, resetMs: 100 }),
    ];
    expect(fields(dialect, all)).toEqual({
      'RateLimit-Limit': '10',
      'RateLimit-Remaining': '9',
      'RateLimit-Reset': '1',
      'RateLimit-Policy': '100;w=60, 10;w=1',
    });
  });

  test('tells a violated policy before one that only has less left', () => {
    expect(fields(dialect, mixed)).toMatchObject({
      'RateLimit-Limit': '100',
      'RateLimit-Remaining': '2',
      'RateLimit-Reset': '31',
    });
  });

  test('writes Integers, and a List of Integers that each have a window above 0', () => {
    fc.assert(
      fc.property(cases, (all) => {
        const written = fields(dialect, all);
        expect(Object.keys(written)).toHaveLength(4);
        const items = ['Limit', 'Remaining', 'Reset'].map((field) =>
          parseItem(written[`RateLimit-${field}`]!),
        );
        expect(tightestOf(all)).toContainEqual(items.map(([value]) => value));
        for (const [, parameters] of items) expect(parameters.size).toBe(0);
        expect(parseList(written['RateLimit-Policy']!)).toEqual(
          all.map(({ policy: { quota } }) => [quota.limit, new Map([['w', seconds(quota.windowMs!)]])]),
        );
      }),
      { numRuns: 300 },
    );
  });
});

describe('x-ratelimit', () => {
  const dialect = dialects['x-ratelimit'];

  test('tells the tightest policy, with its reset in seconds from now', () => {
    expect(
      fields(dialect, [
        allowed('burst', { limit: 100, remaining: 50, resetMs: 29_001 }),
        allowed('daily', { limit: 1_000, remaining: 51, resetMs: 86_400_000 }),
      ]),
    ).toEqual({ 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '50', 'X-RateLimit-Reset': '30' });
  });

  test('tells a violated policy before one that only has less left', () => {
    expect(fields(dialect, mixed)).toEqual({
      'X-RateLimit-Limit': '100',
      'X-RateLimit-Remaining': '2',
      'X-RateLimit-Reset': '31',
    });
  });

  test('tells a reset of 0 when the full limit is there', () => {
    expect(fields(dialect, [allowed('p', { limit: 5, remaining: 5 })])).toMatchObject({
      'X-RateLimit-Reset': '0',
    });
  });

  test('writes nothing but digits', () => {
    fc.assert(
      fc.property(cases, (all) => {
        const written = fields(dialect, all);
        expect(Object.keys(written)).toHaveLength(3);
        const values = ['Limit', 'Remaining', 'Reset'].map((field) => written[`X-RateLimit-${field}`]!);
        expect(
          tightestOf(all).map((three) => three.map((number) => BigInt(number).toString())),
        ).toContainEqual(values);
      }),
    );
  });
});

test.each(['draft-6', 'x-ratelimit'] as const)(
  '%s tells of two violated policies, both without any left, the one that resets last, as Retry-After does',
  (dialect) => {
    const burst = denied('burst', { remaining: 0, nextMs: 1_000, resetMs: 1_000 });
    const daily = denied('daily', { remaining: 0, nextMs: 36_000_000, resetMs: 36_000_000 });
    for (const all of [
      [burst, daily],
      [daily, burst],
    ]) {
      const written = fields(dialects[dialect], all);
      expect(written['RateLimit-Reset'] ?? written['X-RateLimit-Reset']).toBe('36000');
    }
  },
);
