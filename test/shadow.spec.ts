import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createRateLimiter, type Decision, type RateLimiter } from 'nestjs-valkey-rate-limit';

const START = 1_000_000_000_000;
let prefixes = 0;

/** The names of the sample's policies are registered for the whole program; these are others. */
const any = (name: string) => name as never;

const shadow = { limit: 2, window: '1m', mode: 'shadow' } as const;

describe.each(['memory', 'valkey'] as const)('a policy in shadow on %s', (store) => {
  let now: number;
  let limiter: RateLimiter;

  beforeEach(async () => {
    now = START;
    limiter = await createRateLimiter({
      ...(store === 'valkey' && { valkey: process.env['TEST_VALKEY_URL']!, deadline: '5s' }),
      prefix: `shadow-${process.pid}-${(prefixes += 1)}:`,
      clock: () => now,
      policies: {
        log: { algorithm: 'sliding-log', ...shadow },
        bucket: { algorithm: 'token-bucket', ...shadow },
        sliced: { algorithm: 'fixed-window', ...shadow, slice: { share: 0.5 } },
        queue: { algorithm: 'leaky-bucket', limit: 1, window: '1m', burst: 5, mode: 'shadow' },
        places: { algorithm: 'concurrency', limit: 1, lease: '30s', mode: 'shadow' },
        blocking: { algorithm: 'sliding-log', ...shadow, penalty: { after: 2, block: '1h' } },
      },
    });
  });
  afterEach(() => limiter.close());

  const take = (policy: string) => limiter.consume(any(policy), { key: 'ada' });

  test.each(['log', 'bucket', 'sliced'])(
    '%s passes all, counts, and tells what it would have said',
    async (policy) => {
      const told: Decision[] = [];
      for (let count = 0; count < 4; count += 1) told.push(await take(policy));
      expect(told.map(({ outcome, cost }) => [outcome, cost])).toEqual([
        ['allowed', 1],
        ['allowed', 1],
        ['allowed', 0],
        ['allowed', 0],
      ]);
      const said = told.map((decision) => decision.outcome === 'allowed' && decision.shadow);
      expect(said).toMatchObject([
        { outcome: 'allowed', remaining: 1 },
        { outcome: 'allowed', remaining: 0 },
        { outcome: 'denied', remaining: 0 },
        { outcome: 'denied', remaining: 0 },
      ]);
      // As if the two that would have been refused had not been.
      const { retryAfterMs } = (said as { retryAfterMs: number }[])[3]!;
      now += retryAfterMs;
      expect(await take(policy)).toMatchObject({
        outcome: 'allowed',
        cost: 1,
        shadow: { outcome: 'allowed' },
      });
    },
  );

  test('a decision that took something can be given back, and one that took nothing gives nothing', async () => {
    const taken = await take('log');
    await take('log');
    const nothing = await take('log');
    await limiter.refund(any('log'), { key: 'ada', ...nothing });
    expect(await limiter.peek(any('log'), { key: 'ada' })).toMatchObject({ remaining: 0 });
    await limiter.refund(any('log'), { key: 'ada', ...taken });
    expect(await limiter.peek(any('log'), { key: 'ada' })).toMatchObject({ remaining: 1 });
  });

  test('nobody waits for a turn in shadow', async () => {
    await take('queue');
    expect(await take('queue')).toMatchObject({
      delayMs: 0,
      shadow: { outcome: 'allowed', delayMs: 60_000 },
    });
  });

  test('places that would not have been there are not held', async () => {
    const [first, second] = [await take('places'), await take('places')];
    expect(first).toMatchObject({ outcome: 'allowed', lease: expect.any(String) });
    expect(second).toMatchObject({ outcome: 'allowed', shadow: { outcome: 'denied' } });
    // Whoever releases what it was told does no harm, and code needs not know of shadows.
    await limiter.release(any('places'), { key: 'ada', ...(second as { lease: string }) });
    expect(await limiter.peek(any('places'), { key: 'ada' })).toMatchObject({ remaining: 0 });
  });

  test('a penalty would have been one', async () => {
    for (let count = 0; count < 3; count += 1) await take('blocking');
    expect(await take('blocking')).toMatchObject({
      outcome: 'allowed',
      shadow: { outcome: 'denied', retryAfterMs: 3_600_000, penaltyMs: 3_600_000 },
    });
  });
});

test('decisions$ tells every decision while somebody listens, and ends with the limiter', async () => {
  const limiter = await createRateLimiter({
    clock: () => START,
    policies: {
      log: { algorithm: 'sliding-log', ...shadow },
      real: { algorithm: 'sliding-log', limit: 1, window: '1m' },
    },
  });
  await limiter.consume(any('real'), { key: 'before' });
  const told: (readonly [string, string, string | undefined])[] = [];
  let hasEnded = false;
  limiter.decisions$.subscribe({
    next: (decision) => {
      const would = decision.outcome === 'allowed' ? decision.shadow?.outcome : undefined;
      told.push([decision.policy, decision.outcome, would]);
    },
    complete: () => (hasEnded = true),
  });
  for (let count = 0; count < 3; count += 1) await limiter.consume(any('log'), { key: 'ada' });
  // The second is known here: it is told as well.
  for (let count = 0; count < 3; count += 1) await limiter.consume(any('real'), { key: 'ada' });
  expect(told).toEqual([
    ['log', 'allowed', 'allowed'],
    ['log', 'allowed', 'allowed'],
    ['log', 'allowed', 'denied'],
    ['real', 'allowed', undefined],
    ['real', 'denied', undefined],
    ['real', 'denied', undefined],
  ]);
  await limiter.close();
  expect(hasEnded).toBe(true);
});

test('while the store does not answer it passes as well, whatever it says of that', async () => {
  const limiter = await createRateLimiter({
    valkey: 'valkey://127.0.0.1:1',
    policies: {
      closed: { algorithm: 'sliding-log', ...shadow, onStoreFailure: 'closed' },
      local: { algorithm: 'sliding-log', ...shadow },
    },
  });
  expect(await limiter.consume(any('closed'), { key: 'ada' })).toMatchObject({
    outcome: 'unavailable',
    onStoreFailure: 'closed',
    shadow: true,
  });
  for (let count = 0; count < 2; count += 1) await limiter.consume(any('local'), { key: 'ada' });
  expect(await limiter.consume(any('local'), { key: 'ada' })).toMatchObject({
    outcome: 'allowed',
    store: 'local',
    shadow: { outcome: 'denied' },
  });
  await limiter.close();
});
