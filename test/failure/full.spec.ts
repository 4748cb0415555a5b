import { Redis } from 'iovalkey';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createRateLimiter, type RateLimiter, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { ownValkey } from '../support/valkey.js';

/** The names of the sample's policies are registered for the whole program; these are others. */
const any = (name: string) => name as never;

const policies = {
  window: { algorithm: 'fixed-window', limit: 2, window: '1h' },
  log: { algorithm: 'sliding-log', limit: 2, window: '1h' },
  counter: { algorithm: 'sliding-counter', limit: 2, window: '1h' },
  bucket: { algorithm: 'token-bucket', limit: 2, window: '1h' },
  queue: { algorithm: 'leaky-bucket', limit: 2, window: '1h' },
  month: { algorithm: 'quota', limit: 2, period: 'month' },
  places: { algorithm: 'concurrency', limit: 2, lease: '1h' },
} satisfies RateLimitModuleOptions['policies'];

describe('a Valkey whose memory is full', () => {
  let url: string;
  let admin: Redis;
  let limiter: RateLimiter;

  const open = (changed: RateLimitModuleOptions['policies'] = {}) =>
    createRateLimiter({
      valkey: url,
      deadline: '5s',
      onStoreFailure: 'closed',
      policies: { ...policies, ...changed },
    });
  const take = (policy: string, key: string, by = limiter) => by.consume(any(policy), { key });

  beforeAll(async () => {
    ({ url } = await ownValkey({ args: ['--maxmemory-policy', 'noeviction'] }));
  });
  beforeEach(async () => {
    admin = new Redis(url);
    await admin.flushall();
    limiter = await open();
    for (const policy of Object.keys(policies)) {
      expect((await take(policy, 'used')).outcome).toBe('allowed');
      expect((await take(policy, 'used')).outcome).toBe('allowed');
    }
    await admin.config('SET', 'maxmemory', '1');
  });
  afterEach(async () => {
    await admin.config('SET', 'maxmemory', '0');
    await limiter.close();
    admin.disconnect();
  });

  test.each(Object.keys(policies))(
    'denies whom it knows, takes in nobody new, and says that it could not: %s',
    async (policy) => {
      expect(await take(policy, 'used')).toMatchObject({ outcome: 'denied', store: 'valkey' });
      expect(await take(policy, 'new')).toMatchObject({
        outcome: 'unavailable',
        cause: { message: expect.stringContaining('OOM') },
      });
      expect(await admin.dbsize()).toBe(Object.keys(policies).length);
    },
  );

  test('denies as well where it cannot mend a state that another policy left', async () => {
    const longer = await open({ window: { algorithm: 'fixed-window', limit: 2, window: '1d' } });
    expect(await take('window', 'used', longer)).toMatchObject({ outcome: 'denied', store: 'valkey' });
    await longer.close();
  });
});
