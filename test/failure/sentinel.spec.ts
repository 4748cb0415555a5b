import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createRateLimiter, type RateLimiter, type ValkeySentinel } from 'nestjs-valkey-rate-limit';
import { type LocalSentinels, startSentinels } from '../../tools/local-sentinel.js';
import { until } from '../../tools/until.js';

jest.setTimeout(60_000);

/** The names of the sample's policies are registered for the whole program; these are others. */
const any = (name: string) => name as never;

describe('what Sentinels watch', () => {
  let group: LocalSentinels;
  let limiter: RateLimiter;

  beforeAll(async () => {
    group = await startSentinels({ replicas: 2 });
  });
  afterEach(() => limiter.close());
  afterAll(() => group.stop());

  const open = async (valkey: ValkeySentinel) => {
    limiter = await createRateLimiter({
      valkey,
      policies: { log: { algorithm: 'sliding-log', limit: 1_000, window: '1h' } },
      onStoreFailure: 'closed',
    });
  };
  const decides = async () => (await limiter.consume(any('log'), { key: 'ada' })).outcome === 'allowed';

  test('is asked for without waiting, when no Sentinel is there', async () => {
    const begun = performance.now();
    await open({ sentinels: ['valkey://127.0.0.1:1'], primary: `valkey://${group.name}` });
    expect(performance.now() - begun).toBeLessThan(3_000);
    expect(await decides()).toBe(false);
  });

  test('is found by the Sentinel that answers, and in another database', async () => {
    await open({ sentinels: ['valkey://127.0.0.1:1', group.urls[0]!], primary: `valkey://${group.name}/3` });
    expect(await decides()).toBe(true);
  });

  test.each(['SIGKILL', 'SIGSTOP'] as const)('is another server after %s', async (signal) => {
    await open({ sentinels: group.urls, primary: `valkey://${group.name}` });
    expect(await decides()).toBe(true);
    const lost = await group.currentPrimary();
    lost.kill(signal);
    expect(await decides()).toBe(false);
    await until('a replica decides', decides);
    await until('the Sentinels agree', async () => (await group.currentPrimary()) !== lost);
    lost.kill('SIGCONT');
  });
});
