import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { take, toRule } from '../../testing/asking.js';
import { type LawStore, openMemory, openValkey, START } from '../../testing/stores.js';
import type { AlgorithmOptions } from './index.js';

/** Every algorithm that gives something back as time goes on, at 3 a second. */
const threeASecond: readonly AlgorithmOptions[] = [
  { algorithm: 'fixed-window', limit: 3, window: '1s' },
  { algorithm: 'sliding-log', limit: 3, window: '1s' },
  { algorithm: 'sliding-counter', limit: 3, window: '1s' },
  { algorithm: 'token-bucket', limit: 3, window: '1s' },
  { algorithm: 'leaky-bucket', limit: 3, window: '1s' },
];

/** Faults that people met elsewhere: each as a test of its kind. */
describe.each([
  ['memory', openMemory],
  ['valkey', openValkey],
] as const)('a client on %s', (_, open) => {
  let store: LawStore;
  beforeAll(async () => {
    store = await open();
  });
  afterAll(() => store.close());

  test.each(threeASecond)(
    'that keeps asking while it is refused gets what it may: $algorithm',
    async (options) => {
      const [rule, key] = [toRule(options), store.key()];
      const seconds = 6;
      let allowed = 0;
      for (let asked = 0; asked < seconds * 10; asked += 1) {
        store.now = START + asked * 100;
        if ((await take(store, rule, key, 1)).outcome === 'allowed') allowed += 1;
      }
      expect(allowed).toBeGreaterThanOrEqual(3 * seconds);
      // A bucket begins full, which is one burst more.
      expect(allowed).toBeLessThanOrEqual(3 * seconds + 3);
    },
  );

  test.each(threeASecond)(
    'that asks for more than is left keeps what is left: $algorithm',
    async (options) => {
      const [rule, key] = [toRule(options), store.key()];
      store.now = START;
      await take(store, rule, key, 1);
      for (let tries = 0; tries < 5; tries += 1) {
        expect(await take(store, rule, key, 3)).toMatchObject({ outcome: 'denied', remaining: 2 });
        expect(await take(store, rule, key, 50)).toMatchObject({
          outcome: 'denied',
          retryAfterMs: undefined,
        });
      }
      expect(await take(store, rule, key, 1)).toMatchObject({ outcome: 'allowed', remaining: 1 });
    },
  );

  test.each(threeASecond)(
    'with a limit of 0 is refused everything, and a limit of 1 is one: $algorithm',
    async (options) => {
      store.now = START;
      const [none, one] = [toRule({ ...options, limit: 0 }), toRule({ ...options, limit: 1 })];
      const [nobody, somebody] = [store.key(), store.key()];
      expect(await take(store, none, nobody, 1)).toMatchObject({
        outcome: 'denied',
        retryAfterMs: undefined,
      });
      expect((await take(store, one, somebody, 1)).outcome).toBe('allowed');
      expect((await take(store, one, somebody, 1)).outcome).toBe('denied');
    },
  );

  test('that is refused by one policy of ten has used one of the other', async () => {
    store.now = START;
    const large = toRule({ algorithm: 'token-bucket', limit: 100, window: '1h' });
    const small = toRule({ algorithm: 'fixed-window', limit: 1, window: '1h' });
    const [a, b] = [store.key(), store.key()];
    for (let count = 0; count < 10; count += 1) {
      await store.consume([
        { rule: large, key: a, cost: 1 },
        { rule: small, key: b, cost: 1 },
      ]);
    }
    expect(await take(store, large, a, 0)).toMatchObject({ remaining: 99 });
  });
});
