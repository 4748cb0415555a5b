import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createRateLimiter, type RateLimiter, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { type LocalValkey, startValkey } from '../../tools/local-valkey.js';
import { until } from '../../tools/until.js';
import { ownValkey } from '../support/valkey.js';

/** The names of the sample's policies are registered for the whole program; these are others. */
const any = (name: string) => name as never;

const policies: RateLimitModuleOptions['policies'] = {
  api: { algorithm: 'fixed-window', limit: 5, window: '3650d' },
  open: { algorithm: 'fixed-window', limit: 5, window: '3650d', onStoreFailure: 'open' },
};

describe('limits that were changed, while Valkey is away,', () => {
  const open: RateLimiter[] = [];
  let server: LocalValkey;

  const start = async (options: RateLimitModuleOptions = {}) => {
    const limiter = await createRateLimiter({ valkey: server.url, policies, ...options });
    open.push(limiter);
    return limiter;
  };
  const peek = (limiter: RateLimiter, key = 'ada', policy = 'api') => limiter.peek(any(policy), { key });

  beforeEach(async () => {
    server = await startValkey();
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((limiter) => limiter.close()));
    await server.stop();
  });

  test.each([
    ['gone', () => server.stop()],
    ['frozen', () => server.kill('SIGSTOP')],
  ])('stay known: %s', async (_, end) => {
    const limiter = await start();
    await limiter.overrides.set(any('api'), 'ada', { limit: 9 });
    await limiter.overrides.set(any('open'), 'ada', { limit: 9 });
    await end();
    expect(await peek(limiter)).toMatchObject({ store: 'local', limit: 9, remaining: 9 });
    expect(await peek(limiter, 'bob')).toMatchObject({ store: 'local', limit: 5 });
    expect(await peek(limiter, 'ada', 'open')).toMatchObject({ outcome: 'unavailable', limit: 9 });
    expect(limiter.overrides.get(any('api'), 'ada')).toMatchObject({ limit: 9 });
    // Longer than an instance waits before it looks again.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await peek(limiter)).toMatchObject({ store: 'local', limit: 9 });
    server.kill('SIGCONT');
  });

  test('are shared among instances like every limit', async () => {
    const limiter = await start({ instances: 3 });
    await limiter.overrides.set(any('api'), 'ada', { limit: 9 });
    await server.stop();
    expect(await peek(limiter)).toMatchObject({ store: 'local', limit: 3 });
    expect(await peek(limiter, 'bob')).toMatchObject({ store: 'local', limit: 1 });
  });

  test.each([
    ['set', (limiter: RateLimiter) => limiter.overrides.set(any('api'), 'ada', { limit: 7 })],
    ['deleted', (limiter: RateLimiter) => limiter.overrides.delete(any('api'), 'ada')],
  ])('cannot be %s, which is said within the deadline and changes nothing', async (_, change) => {
    const limiter = await start();
    await limiter.overrides.set(any('api'), 'ada', { limit: 9 });
    await server.stop();
    const begin = performance.now();
    await expect(change(limiter)).rejects.toMatchObject({ name: 'StoreUnavailableError' });
    expect(performance.now() - begin).toBeLessThan(250);
    expect(await peek(limiter)).toMatchObject({ limit: 9 });
  });

  test('end at their time', async () => {
    let now = 1_700_000_000_000;
    const limiter = await start({ clock: () => now });
    await limiter.overrides.set(any('api'), 'ada', { limit: 9, until: now + 1_000 });
    await server.stop();
    expect(await peek(limiter)).toMatchObject({ limit: 9 });
    now += 1_000;
    expect(await peek(limiter)).toMatchObject({ limit: 5 });
  });

  test('are learnt when it is back, by an instance that booted without it', async () => {
    const first = await start();
    await server.stop();
    const late = await start();
    expect(await peek(late)).toMatchObject({ store: 'local', limit: 5 });
    await ownValkey({ port: server.port });
    await until('it can be set', async () => {
      await first.overrides.set(any('api'), 'ada', { limit: 9 });
      return true;
    });
    await until('both decide by it', async () => {
      const seen = await Promise.all([peek(first), peek(late)]);
      return seen.every(
        (decision) => 'store' in decision && decision.store === 'valkey' && decision.limit === 9,
      );
    });
  });

  test('are gone everywhere when it comes back without its data', async () => {
    const limiter = await start();
    await limiter.overrides.set(any('api'), 'ada', { limit: 9 });
    await server.stop();
    await ownValkey({ port: server.port });
    await until('the own numbers are back', async () => {
      const decision = await peek(limiter);
      return 'store' in decision && decision.store === 'valkey' && decision.limit === 5;
    });
    expect(limiter.overrides.list(any('api'))).toEqual([]);
  });
});
