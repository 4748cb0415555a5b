import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createRateLimiter, type RateLimiter, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { startValkey } from '../../tools/local-valkey.js';
import { until } from '../../tools/until.js';
import { ownValkey } from '../support/valkey.js';

/** The names of the sample's policies are registered for the whole program; these are others. */
const any = (name: string) => name as never;

const policies: RateLimitModuleOptions['policies'] = {
  log: { algorithm: 'sliding-log', limit: 10, window: '1h' },
  bucket: { algorithm: 'token-bucket', limit: 10, window: '1h', burst: 4 },
};

describe('while Valkey is away', () => {
  let limiter: RateLimiter;
  afterEach(() => limiter.close());

  const start = async (valkey: string, instances?: RateLimitModuleOptions['instances']) => {
    limiter = await createRateLimiter({ valkey, policies, ...(instances !== undefined && { instances }) });
  };
  const takeTimes = async (policy: string, times: number) => {
    const decisions = [];
    for (let count = 0; count < times; count += 1) {
      decisions.push(await limiter.consume(any(policy), { key: 'ada' }));
    }
    return decisions.filter(({ outcome }) => outcome === 'allowed').length;
  };
  const inValkey = () =>
    until('Valkey decides', async () => {
      const decision = await limiter.peek(any('log'), { key: 'ada' });
      return 'store' in decision && decision.store === 'valkey';
    });
  const gone = async () => {
    const server = await startValkey();
    await server.stop();
    return server;
  };

  test.each([
    [undefined, 10, 4],
    [3, 3, 1],
    [() => 2, 5, 2],
    [100, 1, 1],
    [() => NaN, 10, 4],
  ])('of %s instances each allows its share of the limit', async (instances, log, bucket) => {
    await start((await gone()).url, instances);
    expect([await takeTimes('log', 12), await takeTimes('bucket', 12)]).toEqual([log, bucket]);
    expect(await limiter.peek(any('log'), { key: 'ada' })).toMatchObject({ store: 'local', limit: log });
  });

  test('what is used is charged to Valkey when it is back, once', async () => {
    const server = await gone();
    await start(server.url);
    await takeTimes('log', 6);
    await takeTimes('bucket', 2);
    await ownValkey({ port: server.port });
    await inValkey();
    await sleep(100); // the hand-over goes on beside the requests
    expect(await limiter.peek(any('log'), { key: 'ada' })).toMatchObject({ store: 'valkey', remaining: 4 });
    expect(await limiter.peek(any('bucket'), { key: 'ada' })).toMatchObject({ remaining: 2 });
    await sleep(300);
    expect(await limiter.peek(any('log'), { key: 'ada' })).toMatchObject({ remaining: 4 });
  });

  test('what is used beyond what Valkey has left is charged as what is left', async () => {
    const server = await ownValkey();
    await start(server.url);
    await takeTimes('log', 7);
    server.kill('SIGSTOP');
    expect(await takeTimes('log', 6)).toBe(6);
    server.kill('SIGCONT');
    await inValkey();
    await sleep(100);
    expect(await limiter.peek(any('log'), { key: 'ada' })).toMatchObject({ store: 'valkey', remaining: 0 });
  });

  test('more clients than are handed over are let go of', async () => {
    const server = await gone();
    await start(server.url);
    for (let client = 0; client < 12_000; client += 1) {
      await limiter.consume(any('log'), { key: `client-${client}` });
    }
    await ownValkey({ port: server.port });
    await inValkey();
    const decisions = await Promise.all(
      Array.from({ length: 50 }, (_, client) => limiter.peek(any('log'), { key: `client-${client}` })),
    );
    expect(decisions.every((decision) => decision.outcome === 'allowed')).toBe(true);
  });
});
