import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createRateLimiter, type RateLimiter } from 'nestjs-valkey-rate-limit';
import { startValkey } from '../tools/local-valkey.js';

const START = 1_000_000_000_000;
let prefixes = 0;

/** The names of the sample's policies are registered for the whole program; these are others. */
const any = (name: string) => name as never;

describe.each(['memory', 'valkey'] as const)('RateLimiter on %s', (store) => {
  let now: number;
  let limiter: RateLimiter;

  beforeEach(async () => {
    now = START;
    limiter = await createRateLimiter({
      ...(store === 'valkey' && { valkey: process.env['TEST_VALKEY_URL']!, deadline: '5s' }),
      prefix: `service-${process.pid}-${(prefixes += 1)}:`,
      clock: () => now,
      policies: {
        log: { algorithm: 'sliding-log', limit: 3, window: '1m' },
        bucket: { algorithm: 'token-bucket', limit: 3, window: '1m' },
        places: { algorithm: 'concurrency', limit: 2, lease: '30s' },
      },
    });
  });
  afterEach(() => limiter.close());

  const remaining = async (policy: string, key = 'ada') => {
    const decision = await limiter.peek(any(policy), { key });
    return 'remaining' in decision ? decision.remaining : undefined;
  };

  test('a decision says all that there is to know', async () => {
    expect(await limiter.consume(any('log'), { key: 'ada', cost: 2 })).toEqual({
      outcome: 'allowed',
      policy: 'log',
      limit: 3,
      store,
      at: START,
      cost: 2,
      remaining: 1,
      delayMs: 0,
      nextMs: 60_000,
      resetMs: 60_000,
    });
    expect(await limiter.consume(any('log'), { key: 'ada', cost: 2 })).toEqual({
      outcome: 'denied',
      policy: 'log',
      limit: 3,
      store,
      at: START,
      cost: 0,
      remaining: 1,
      retryAfterMs: 60_000,
      nextMs: 60_000,
      resetMs: 60_000,
    });
  });

  test.each(['log', 'bucket'])(
    'a refund gives back what a decision of %s took, and not twice',
    async (policy) => {
      const decision = await limiter.consume(any(policy), { key: 'ada' });
      await limiter.consume(any(policy), { key: 'ada' });
      expect(await remaining(policy)).toBe(1);
      await limiter.refund(any(policy), { key: 'ada', ...decision });
      expect(await remaining(policy)).toBe(2);
      now += 60_000;
      await limiter.refund(any(policy), { key: 'ada', ...decision });
      expect(await remaining(policy)).toBe(3);
    },
  );

  test.each(['log', 'bucket'])(
    'a refund of a decision of %s that took nothing gives nothing',
    async (policy) => {
      await limiter.consume(any(policy), { key: 'ada', cost: 3 });
      const denied = await limiter.consume(any(policy), { key: 'ada' });
      await limiter.refund(any(policy), { key: 'ada', ...denied });
      expect(await remaining(policy)).toBe(0);
    },
  );

  test('a refund never lifts usage below zero', async () => {
    await limiter.refund(any('bucket'), { key: 'ada', cost: 5 });
    await limiter.refund(any('log'), { key: 'ada', cost: 5 });
    expect([await remaining('bucket'), await remaining('log')]).toEqual([3, 3]);
  });

  test('reset forgets one key and no other', async () => {
    await limiter.consume(any('log'), { key: 'user:1' });
    await limiter.consume(any('log'), { key: 'user:10' });
    await limiter.reset(any('log'), { key: 'user:1' });
    expect([await remaining('log', 'user:1'), await remaining('log', 'user:10')]).toEqual([3, 2]);
  });

  test('places are renewed and released by the id that the decision carries', async () => {
    const first = await limiter.consume(any('places'), { key: 'ada' });
    const second = await limiter.consume(any('places'), { key: 'ada' });
    expect((await limiter.consume(any('places'), { key: 'ada' })).outcome).toBe('denied');
    now += 20_000;
    expect(await limiter.renew(any('places'), { key: 'ada', ...first })).toBe(true);
    now += 15_000;
    expect(await limiter.renew(any('places'), { key: 'ada', ...second })).toBe(false);
    expect(await remaining('places')).toBe(1);
    await limiter.release(any('places'), { key: 'ada', ...first });
    await limiter.release(any('places'), { key: 'ada', ...first });
    expect(await remaining('places')).toBe(2);
  });

  test('a lease of several places is renewed and released whole', async () => {
    const both = await limiter.consume(any('places'), { key: 'ada', cost: 2 });
    now += 20_000;
    expect(await limiter.renew(any('places'), { key: 'ada', ...both })).toBe(true);
    now += 20_000;
    expect(await remaining('places')).toBe(0);
    await limiter.release(any('places'), { key: 'ada', ...both });
    expect(await remaining('places')).toBe(2);
  });

  test('what cannot be meant is refused, with the policy and the mend', async () => {
    const message = (promise: Promise<unknown>) => promise.then(String, (error: Error) => error.message);
    expect(await message(limiter.consume(any('nope'), { key: 'a' }))).toMatch(
      /there is no policy "nope" .* Configured: "log", "bucket", "places"\./,
    );
    expect(await message(limiter.consume(any('log'), { key: '' }))).toMatch(
      /policy "log": key must be a text/,
    );
    for (const cost of [-1, 1.5, NaN, Infinity, '1' as never]) {
      expect(await message(limiter.consume(any('log'), { key: 'a', cost }))).toMatch(
        /cost must be a whole number/,
      );
      expect(await message(limiter.refund(any('log'), { key: 'a', cost }))).toMatch(
        /cost must be a whole number/,
      );
    }
    expect(await message(limiter.renew(any('log'), { key: 'a', lease: 'x' }))).toMatch(
      /counts by sliding-log, and only concurrency has places .* Use refund/,
    );
    for (const at of [-1, 1.5, NaN, 'now' as never]) {
      expect(await message(limiter.refund(any('log'), { key: 'a', at }))).toMatch(/at must be the time/);
    }
    expect(await message(limiter.refund(any('places'), { key: 'a' }))).toMatch(
      /lease must be the id that the decision/,
    );
    expect(await remaining('log', 'a')).toBe(3);
  });
});

test('what was taken locally while Valkey was away is refunded and released locally', async () => {
  const gone = await startValkey();
  await gone.stop();
  const limiter = await createRateLimiter({
    valkey: gone.url,
    policies: {
      log: { algorithm: 'sliding-log', limit: 3, window: '1m' },
      places: { algorithm: 'concurrency', limit: 1, lease: '30s' },
    },
  });
  const taken = await limiter.consume(any('log'), { key: 'ada' });
  expect(taken).toMatchObject({ outcome: 'allowed', store: 'local', remaining: 2 });
  await limiter.refund(any('log'), { key: 'ada', ...taken });
  expect(await limiter.peek(any('log'), { key: 'ada' })).toMatchObject({ remaining: 3 });

  const held = await limiter.consume(any('places'), { key: 'ada' });
  expect((await limiter.consume(any('places'), { key: 'ada' })).outcome).toBe('denied');
  await limiter.release(any('places'), { key: 'ada', ...held });
  expect((await limiter.consume(any('places'), { key: 'ada' })).outcome).toBe('allowed');

  await expect(limiter.reset(any('log'), { key: 'ada' })).rejects.toThrow(
    /Valkey at 127.0.0.1:\d+: .*ECONNREFUSED/,
  );
  await limiter.close();
});
