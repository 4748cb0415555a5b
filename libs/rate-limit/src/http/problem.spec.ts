import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { Decision } from '../decision/decision.js';
import { refuse } from './problem.js';

const TYPES = 'https://iana.org/assignments/http-problem-types';

const counted = { limit: 10, store: 'valkey', at: 0, remaining: 3, nextMs: 5_000, resetMs: 60_000 } as const;

const allowed = (policy: string): Decision => ({
  ...counted,
  policy,
  outcome: 'allowed',
  delayMs: 0,
  cost: 0,
});

const denied = (policy: string, retryAfterMs: number | undefined): Decision => ({
  ...counted,
  policy,
  outcome: 'denied',
  cost: 0,
  remaining: 0,
  retryAfterMs,
});

const unavailable = (policy: string, onStoreFailure: 'open' | 'closed'): Decision => ({
  policy,
  limit: 10,
  cost: 0,
  outcome: 'unavailable',
  onStoreFailure,
  cause: new Error('Valkey at valkey://user:secret@10.0.0.7 does not answer'),
});

describe('a limit that was exceeded', () => {
  test('is a problem document with every member in place', () => {
    expect(refuse([denied('login', 30_000)])).toEqual({
      retryAfter: 30,
      problem: {
        type: `${TYPES}#quota-exceeded`,
        title: 'Request cannot be satisfied as assigned quota has been exceeded',
        status: 429,
        detail: 'The limit "login" is exceeded. Try again in 30 seconds.',
        'violated-policies': ['login'],
      },
    });
  });

  test('names the violated policies, in order, and no other', () => {
    const { problem } = refuse([
      allowed('burst'),
      denied('minute', 30_000),
      unavailable('search', 'open'),
      denied('daily', 7_200_000),
    ]);
    expect(problem['violated-policies']).toEqual(['minute', 'daily']);
    expect(problem.detail).toBe('The limits "minute", "daily" are exceeded. Try again in 7200 seconds.');
  });

  test.each([
    [1, 1],
    [400, 1],
    [1_000, 1],
    [1_001, 2],
    [61_500, 62],
  ])('after %d ms is to be tried again in %d s: rounded up and never 0', (retryAfterMs, seconds) => {
    const { retryAfter, problem } = refuse([denied('login', retryAfterMs)]);
    expect(retryAfter).toBe(seconds);
    expect(problem.detail).toContain(
      seconds === 1 ? 'Try again in 1 second.' : `Try again in ${seconds} seconds.`,
    );
  });

  test('is to be tried again after the longest wait of those violated, whatever the others would take', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 100_000_000 }), { minLength: 1, maxLength: 6 }),
        fc.nat(6),
        (waits, place) => {
          const decisions = waits.map((wait, index) => denied(`policy-${index}`, wait));
          decisions.splice(place, 0, allowed('healthy'));
          const { retryAfter, problem } = refuse(decisions);
          expect(retryAfter).toBe(Math.max(...waits.map((wait) => Number((BigInt(wait) + 999n) / 1_000n))));
          expect(problem.status).toBe(429);
          expect(problem.detail.match(/\d+ seconds?\./g)).toHaveLength(1);
        },
      ),
    );
  });

  test('names no time when no wait helps, be it for one of several', () => {
    for (const decisions of [
      [denied('upload', undefined)],
      [denied('upload', undefined), denied('burst', 500)],
      [denied('burst', 500), denied('upload', undefined)],
    ]) {
      const { retryAfter, problem } = refuse(decisions);
      expect(retryAfter).toBeUndefined();
      expect(problem.status).toBe(429);
      expect(problem.detail).toMatch(/exceeded\. This request asks for more than the limit ever allows\.$/);
    }
  });
});

describe('a closed policy that could not be decided', () => {
  test('is 503 with a time to try again, and is no violation', () => {
    expect(refuse([unavailable('login', 'closed')])).toEqual({
      retryAfter: 1,
      problem: {
        type: `${TYPES}#temporary-reduced-capacity`,
        title: 'Request cannot be satisfied due to temporary server capacity constraints',
        status: 503,
        detail: 'The limit "login" is unavailable. Try again in 1 second.',
      },
    });
  });

  test('wins over a limit that was exceeded: nobody can say whether waiting helps', () => {
    for (const decisions of [
      [denied('daily', 3_600_000), unavailable('login', 'closed')],
      [unavailable('login', 'closed'), denied('upload', undefined)],
    ]) {
      const { retryAfter, problem } = refuse(decisions);
      expect(problem).toMatchObject({ status: 503, type: `${TYPES}#temporary-reduced-capacity` });
      expect(problem).not.toHaveProperty('violated-policies');
      expect(retryAfter).toBe(1);
    }
  });

  test('is named, and open policies beside it are not', () => {
    const { problem } = refuse([
      unavailable('burst', 'open'),
      unavailable('login', 'closed'),
      unavailable('sms', 'closed'),
    ]);
    expect(problem.detail).toBe('The limits "login", "sms" are unavailable. Try again in 1 second.');
  });

  test('tells the client nothing of the cause', () => {
    expect(JSON.stringify(refuse([unavailable('login', 'closed')]))).not.toMatch(/secret|10\.0\.0\.7|Valkey/);
  });
});

test('a refusal is 429 or 503, its title goes with its type, and Retry-After is one whole number or nothing', () => {
  const decision = fc.oneof(
    fc.constant(allowed('a')),
    fc.option(fc.integer({ min: 1, max: 1e12 }), { nil: undefined }).map((wait) => denied('b', wait)),
    fc.constantFrom('open' as const, 'closed' as const).map((mode) => unavailable('c', mode)),
  );
  const refused = fc.oneof(fc.constant(denied('d', 1_500)), fc.constant(unavailable('e', 'closed')));
  const titles = new Map<string, string>();
  fc.assert(
    fc.property(fc.array(decision, { maxLength: 5 }), refused, (others, one) => {
      const { problem, retryAfter } = refuse([...others, one]);
      const closed = [...others, one].some(
        (d) => d.outcome === 'unavailable' && d.onStoreFailure === 'closed',
      );
      expect(problem.status).toBe(closed ? 503 : 429);
      expect('violated-policies' in problem).toBe(!closed);
      expect(titles.get(problem.type) ?? problem.title).toBe(problem.title);
      titles.set(problem.type, problem.title);
      if (retryAfter !== undefined) expect(String(retryAfter)).toMatch(/^[1-9]\d*$/);
      else expect(closed).toBe(false);
    }),
  );
  expect(titles.size).toBe(2);
});
