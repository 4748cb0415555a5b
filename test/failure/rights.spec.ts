import { Redis } from 'iovalkey';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createRateLimiter, type RateLimiter, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { rightsOf } from '../support/guide.js';
import { ownValkey } from '../support/valkey.js';

/** The names of the sample's policies are registered for the whole program; these are others. */
const any = (name: string) => name as never;

const policies: RateLimitModuleOptions['policies'] = {
  window: { algorithm: 'fixed-window', limit: 2, window: '1h' },
  log: { algorithm: 'sliding-log', limit: 3, window: 50 },
  counter: { algorithm: 'sliding-counter', limit: 2, window: '1h' },
  bucket: { algorithm: 'token-bucket', limit: 2, window: '1h' },
  queue: { algorithm: 'leaky-bucket', limit: 2, window: '1h' },
  month: { algorithm: 'quota', limit: 2, period: 'month' },
  places: { algorithm: 'concurrency', limit: 3, lease: 50 },
};

describe('the rights that the guide names', () => {
  let admin: Redis;
  let url: string;
  let rights: string[];
  let now = 1_000_000_000_000;

  beforeAll(async () => {
    rights = await rightsOf('limiter');
    const server = await ownValkey();
    admin = new Redis(server.url);
    url = server.url.replace('//', '//limiter:secret@');
  });
  afterAll(() => admin.disconnect());

  /** Whatever a limiter does, with and without a clock that steps back; throws what Valkey refuses. */
  const everything = async () => {
    const limiter = await createRateLimiter({
      valkey: url,
      policies,
      deadline: '5s',
      onStoreFailure: 'closed',
      clock: () => now,
    });
    try {
      for (const policy of Object.keys(policies!)) {
        const key = `key-${now}`;
        const ask = async (cost: number) => {
          const decision = await limiter.consume(any(policy), { key, cost });
          if (decision.outcome === 'unavailable') throw decision.cause;
          return decision;
        };
        const first = await ask(1);
        now -= 5; // the clock steps back while there is room
        await ask(1);
        now += 30;
        await ask(1);
        if (first.outcome === 'allowed' && first.lease !== undefined) {
          await limiter.renew(any(policy), { key, ...first });
        }
        if (first.outcome === 'allowed') await limiter.refund(any(policy), { key, ...first });
        await ask(1);
        now += 30; // what was taken first has left a window of 50 ms, and what was taken last has not
        await ask(1);
        await limiter.reset(any(policy), { key });
      }
      await changeLimits(limiter);
    } finally {
      await limiter.close();
      now += 1_000_000;
    }
  };
  /** Throws where what was changed is not known afterwards, as well: a look that is refused says nothing. */
  const changeLimits = async ({ overrides }: RateLimiter) => {
    await overrides.set(any('window'), 'ada', { limit: 9 });
    expect(overrides.list(any('window'))).toMatchObject([{ key: 'ada', limit: 9 }]);
    await overrides.delete(any('window'), 'ada');
    expect(overrides.list(any('window'))).toEqual([]);
  };
  const allow = (granted: readonly string[]) => admin.call('ACL', 'SETUSER', 'limiter', 'reset', ...granted);

  test('are enough for all that it does', async () => {
    await allow(rights);
    await everything();
    // And by the server's own clock, which takes one command more.
    const limiter = await createRateLimiter({
      valkey: url,
      policies,
      deadline: '5s',
      onStoreFailure: 'closed',
    });
    expect(await limiter.consume(any('window'), { key: 'a' })).toMatchObject({
      outcome: 'allowed',
      store: 'valkey',
    });
    await limiter.close();
  });

  test('are each needed', async () => {
    const needless: string[] = [];
    // TIME is tried above, INFO is how the client learns that the server is ready, and the name is a courtesy.
    const tried = rights.filter((right) => right.startsWith('+') && !/time|info|setname/.test(right));
    for (const right of tried) {
      await allow(rights.filter((other) => other !== right));
      await admin.script('FLUSH');
      await admin.flushall(); // what a refused round has left
      const refused = await everything().then(
        () => false,
        () => true,
      );
      if (!refused) needless.push(right);
    }
    expect(needless).toEqual([]);
  });
});
