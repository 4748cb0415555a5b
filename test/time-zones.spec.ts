import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createRateLimiter, type RateLimiter, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';

/** The names of the sample's policies are registered for the whole program; these are others. */
const any = (name: string) => name as never;

const policies: RateLimitModuleOptions['policies'] = {
  day: { algorithm: 'quota', limit: 2, period: 'day' },
  fixed: { algorithm: 'quota', limit: 2, period: 'day', timeZone: 'Europe/Berlin' },
  window: { algorithm: 'fixed-window', limit: 2, window: '1d' },
};

describe.each([
  ['memory', {}],
  ['valkey', { valkey: process.env['TEST_VALKEY_URL']! }],
])("a quota in the client's days, in %s", (_, where) => {
  let now = 0;
  let limiter: RateLimiter;
  const start = async (at: string) => {
    now = Date.parse(at);
    const prefix = `${randomUUID().slice(0, 8)}:`;
    limiter = await createRateLimiter({ ...where, policies, prefix, deadline: '5s', clock: () => now });
  };
  afterEach(() => limiter.close());

  /** Milliseconds until the day is over. */
  const left = async (policy: string, timeZone?: string) => {
    const decision = await limiter.consume(any(policy), {
      key: timeZone ?? 'nowhere',
      ...(timeZone && { timeZone }),
    });
    return 'resetMs' in decision ? decision.resetMs / 3_600_000 : decision.outcome;
  };

  test('ends at the midnight of each, and of UTC where there is no such time zone', async () => {
    await start('2026-01-01T20:00:00Z');
    expect(await left('day', 'Asia/Tokyo')).toBe(19);
    expect(await left('day', 'America/New_York')).toBe(9);
    expect(await left('day')).toBe(4);
    expect(await left('day', 'Middle-earth/Shire')).toBe(4);
    expect(await left('fixed', 'Asia/Tokyo')).toBe(3);
    expect(await left('window', 'Asia/Tokyo')).toBe(4);
  });

  test('gives back to the day of which it was taken', async () => {
    await start('2026-01-01T14:59:00Z'); // a minute before midnight in Tokyo
    const tokyo = { key: 'kobe', timeZone: 'Asia/Tokyo' };
    const taken = await limiter.consume(any('day'), tokyo);
    expect(taken).toMatchObject({ outcome: 'allowed', timeZone: 'Asia/Tokyo', remaining: 1 });
    await limiter.refund(any('day'), { ...(taken as object), key: 'kobe' });
    expect(await limiter.peek(any('day'), tokyo)).toMatchObject({ remaining: 2 });
    const again = await limiter.consume(any('day'), tokyo);
    now += 120_000; // another day there, and the same one in UTC
    await limiter.consume(any('day'), tokyo);
    await limiter.refund(any('day'), { ...(again as object), key: 'kobe' });
    expect(await limiter.peek(any('day'), tokyo)).toMatchObject({ remaining: 1 });
  });

  test('is not told of policies that do not ask', async () => {
    await start('2026-01-01T20:00:00Z');
    for (const policy of ['fixed', 'window']) {
      const decision = await limiter.consume(any(policy), { key: 'kobe', timeZone: 'Asia/Tokyo' });
      expect(decision).not.toHaveProperty('timeZone');
    }
  });
});
