import { randomUUID } from 'node:crypto';
import { Redis } from 'iovalkey';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createRateLimiter, type RateLimiter, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { until } from '../tools/until.js';

/** The names of the sample's policies are registered for the whole program; these are others. */
const any = (name: string) => name as never;

const valkey = process.env['TEST_VALKEY_URL']!;

const policies = {
  window: { algorithm: 'fixed-window', limit: 5, window: '1h' },
  bucket: { algorithm: 'token-bucket', limit: 5, window: '1h', burst: 5 },
  log: { algorithm: 'sliding-log', limit: 5, window: '1h' },
  places: { algorithm: 'concurrency', limit: 5, lease: '1h' },
  month: { algorithm: 'quota', limit: 5, period: 'month' },
  planned: {
    plans: {
      free: { algorithm: 'sliding-counter', limit: 5, window: '1h' },
      staff: 'unlimited',
    },
    default: 'free',
  },
} satisfies RateLimitModuleOptions['policies'];

describe.each([
  ['memory', {}],
  ['valkey', { valkey }],
])('limits that change while running, in %s', (_, where) => {
  const open: RateLimiter[] = [];
  let now = 1_700_000_000_000;
  const start = async (prefix = `${randomUUID().slice(0, 8)}:`) => {
    const limiter = await createRateLimiter({ ...where, policies, prefix, deadline: '5s', clock: () => now });
    open.push(limiter);
    return limiter;
  };
  afterEach(() => Promise.all(open.splice(0).map((limiter) => limiter.close())));

  const limitOf = async (limiter: RateLimiter, policy: string, key = 'ada', plan?: string) => {
    const decision = await limiter.peek(any(policy), { key, ...(plan !== undefined && { plan }) });
    return 'limit' in decision ? decision.limit : decision.outcome;
  };

  test.each(Object.keys(policies))(
    '%s: takes effect at the next request, keeps what was used, and ends',
    async (policy) => {
      const limiter = await start();
      for (let count = 0; count < 3; count += 1) await limiter.consume(any(policy), { key: 'ada' });
      await limiter.overrides.set(any(policy), 'ada', { limit: 8, until: now + 1_000 });
      expect(await limiter.peek(any(policy), { key: 'ada' })).toMatchObject({ limit: 8, outcome: 'allowed' });
      expect(await limitOf(limiter, policy, 'bob')).toBe(5);
      const more = [];
      for (let count = 0; count < 8; count += 1)
        more.push(await limiter.consume(any(policy), { key: 'ada' }));
      const allowed = more.filter(({ outcome }) => outcome === 'allowed').length;
      expect(allowed).toBeLessThanOrEqual(5);
      expect(allowed).toBeGreaterThanOrEqual(2); // of a bucket whose burst stayed 5
      now += 1_000;
      expect(await limiter.consume(any(policy), { key: 'ada' })).toMatchObject({
        limit: 5,
        outcome: 'denied',
      });
    },
  );

  test('is listed, found and deleted', async () => {
    const { overrides } = await start();
    await overrides.set(any('window'), 'ada', { limit: 1 });
    await overrides.set(any('window'), 'bob', { window: '1m', until: new Date(now + 60_000) });
    await overrides.set(any('log'), 'ada', { limit: 9 });
    expect(overrides.list(any('window'))).toEqual([
      { key: 'ada', limit: 1 },
      { key: 'bob', window: '1m', until: now + 60_000 },
    ]);
    expect(overrides.get(any('log'), 'ada')).toEqual({ limit: 9 });
    await overrides.delete(any('log'), 'ada');
    expect(overrides.get(any('log'), 'ada')).toBeUndefined();
    now += 60_000;
    expect(overrides.list(any('window'))).toHaveLength(1);
  });

  test('gives a limit to whom the plan gives none, and to a plan other numbers', async () => {
    const limiter = await start();
    expect(await limitOf(limiter, 'planned', 'ada', 'staff')).toBe('unlimited');
    await limiter.overrides.set(any('planned'), 'ada', { limit: 2 });
    expect(await limitOf(limiter, 'planned', 'ada', 'staff')).toBe(2);
    expect(await limitOf(limiter, 'planned', 'ada', 'free')).toBe(2);
    expect(await limitOf(limiter, 'planned', 'bob', 'staff')).toBe('unlimited');
  });

  test.each([
    ['nothing', {}, 'NO_NUMBERS'],
    ['only an end', { until: 4_000_000_000_000 }, 'NO_NUMBERS'],
    ['a limit as text', { limit: '10' }, 'INVALID_LIMIT'],
    ['a negative limit', { limit: -1 }, 'INVALID_LIMIT'],
    ['a window of nothing', { window: 0 }, 'INVALID_WINDOW'],
    ['an option that the algorithm does not have', { burst: 5 }, 'UNKNOWN_OPTION'],
    ['a foreign option', { limit: 5, ttl: 5 }, 'UNKNOWN_OPTION'],
    ['another algorithm', { limit: 5, algorithm: 'sliding-log' }, 'UNKNOWN_OPTION'],
    ['an end that is over', { limit: 5, until: 1 }, 'INVALID_UNTIL'],
    ['an end that is none', { limit: 5, until: new Date('soon') }, 'INVALID_UNTIL'],
    ['no object', 10, 'OPTIONS'],
  ])('is refused when set: %s', async (_what, override, code) => {
    const { overrides } = await start();
    await expect(overrides.set(any('window'), 'ada', override as never)).rejects.toMatchObject({ code });
    expect(overrides.list(any('window'))).toEqual([]);
  });

  test('is refused for a policy that does not exist and a key that cannot be', async () => {
    const { overrides } = await start();
    await expect(overrides.set(any('x'), 'ada', { limit: 1 })).rejects.toMatchObject({
      code: 'UNKNOWN_POLICY',
    });
    await expect(overrides.set(any('window'), '', { limit: 1 })).rejects.toMatchObject({
      code: 'INVALID_KEY',
    });
    const long = 'x'.repeat(257);
    await expect(overrides.set(any('window'), long, { limit: 1 })).rejects.toMatchObject({
      code: 'INVALID_KEY',
    });
  });

  if ('valkey' in where) {
    test('is seen by every other instance within a second, also when it is taken back', async () => {
      const prefix = `${randomUUID().slice(0, 8)}:`;
      const [one, other] = [await start(prefix), await start(prefix)];
      await one.overrides.set(any('window'), 'ada', { limit: 9 });
      await until('the other sees it', async () => (await limitOf(other, 'window')) === 9, 1_000);
      const late = await start(prefix);
      expect(await limitOf(late, 'window')).toBe(9);
      await other.overrides.delete(any('window'), 'ada');
      await until('the one sees it', async () => (await limitOf(one, 'window')) === 5, 1_000);
    });

    test('has no effect where another release wrote what nobody can read', async () => {
      const prefix = `${randomUUID().slice(0, 8)}:`;
      const client = new Redis(valkey);
      await client.hset(`${prefix}overrides`, {
        ':version': '1',
        'window:ada': '{"limit":"ten"}',
        'window:bob': 'nonsense',
        'gone:ada': '{"limit":1}',
        'window:cleo': '{"limit":7}',
      });
      client.disconnect();
      const limiter = await start(prefix);
      expect([await limitOf(limiter, 'window'), await limitOf(limiter, 'window', 'cleo')]).toEqual([5, 7]);
    });
  }
});
