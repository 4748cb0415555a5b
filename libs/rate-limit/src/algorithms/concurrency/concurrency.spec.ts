import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { attempt, toRule } from '../../../testing/asking.js';
import { describeLaws } from '../../../testing/law.js';
import { openMemory, openValkey } from '../../../testing/stores.js';

describe.each([
  ['memory', openMemory],
  ['valkey', openValkey],
] as const)('concurrency on %s', (_, open) => {
  test('places are held until they are released, or until their lease ends', async () => {
    const store = await open();
    const key = store.key();
    const rule = toRule({ algorithm: 'concurrency', limit: 2, lease: '30s' });
    const take = async (lease: string) => (await store.consume([attempt(rule, key, 1, lease)])).verdicts[0];
    const release = (lease: string) => store.consume([attempt(rule, key, -1, lease)]);
    const renew = async (lease: string) => {
      const { verdicts } = await store.consume([{ ...attempt(rule, key, 1, lease), renew: true }]);
      return verdicts[0]!.outcome;
    };

    expect(await take('a')).toMatchObject({ outcome: 'allowed', remaining: 1, resetMs: 30_000 });
    store.now += 10_000;
    expect(await take('b')).toMatchObject({
      outcome: 'allowed',
      remaining: 0,
      nextMs: 20_000,
      resetMs: 30_000,
    });
    expect(await take('c')).toMatchObject({ outcome: 'denied', retryAfterMs: 20_000 });

    await release('a');
    await release('a');
    await release('nobody');
    expect(await take('c')).toMatchObject({ outcome: 'allowed', remaining: 0 });

    store.now += 20_000;
    expect(await renew('b')).toBe('allowed');
    store.now += 10_000; // c ends here, b has been renewed
    expect(await renew('c')).toBe('denied');
    expect(await take('d')).toMatchObject({ outcome: 'allowed', remaining: 0, nextMs: 20_000 });
    // The late release of a lease that has ended takes nobody else's place.
    await release('c');
    expect(await take('e')).toMatchObject({ outcome: 'denied', retryAfterMs: 20_000 });
    await store.close();
  });

  test('a cost holds as many places, which come back together', async () => {
    const store = await open();
    const key = store.key();
    const rule = toRule({ algorithm: 'concurrency', limit: 5, lease: '30s' });
    const ask = async (cost: number, lease: string) =>
      (await store.consume([attempt(rule, key, cost, lease)])).verdicts[0];
    expect(await ask(4, 'large')).toMatchObject({ outcome: 'allowed', remaining: 1 });
    expect(await ask(2, 'small')).toMatchObject({ outcome: 'denied', remaining: 1, retryAfterMs: 30_000 });
    expect(await ask(6, 'huge')).toMatchObject({ outcome: 'denied', retryAfterMs: undefined });
    await ask(-4, 'large');
    expect(await ask(5, 'all')).toMatchObject({ outcome: 'allowed', remaining: 0 });
    await store.close();
  });
});

describeLaws(
  'concurrency',
  fc.record({
    algorithm: fc.constant('concurrency' as const),
    limit: fc.oneof(fc.nat(12), fc.nat(50)),
    lease: fc.oneof(
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 60_000 }),
      fc.constant('365d' as const),
    ),
  }),
  { typical: { algorithm: 'concurrency', limit: 10, lease: '1h' }, bytes: 400 },
);
