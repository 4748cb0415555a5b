import { beforeEach, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { attempt, toRule } from '../../testing/asking.js';
import { MemoryStore } from '../storage/memory/memory-store.js';
import type { Attempt } from '../storage/store.js';
import { DenyCache } from './deny-cache.js';

const START = 1_000_000_000_000;
const CAP = 1_000;

const minute = toRule({ algorithm: 'fixed-window', limit: 5, window: '1m' });
const steady = toRule({ algorithm: 'token-bucket', limit: 10, window: '1s' });

describe('what is known of denials', () => {
  let now: number;
  /** How much later than the process the store is at it. */
  let late: number;
  let asked: number;
  let cache: DenyCache;
  let store: MemoryStore;

  beforeEach(() => {
    [now, late, asked] = [START, 0, 0];
    cache = new DenyCache(CAP, () => now, 100);
    store = new MemoryStore(() => now);
  });

  /** As the engine does it; the answer takes as long as the question. */
  const decide = (attempts: readonly Attempt[]) => {
    const known = cache.find(attempts);
    if (known !== undefined) return known.verdicts;
    asked += 1;
    const askedAt = cache.now();
    now += late;
    const answer = store.consume(attempts);
    now += late;
    cache.remember(attempts, answer, askedAt);
    return answer.verdicts;
  };
  const take = (rule = minute, key = 'ada', cost = 1) => decide([attempt(rule, key, cost)])[0]!;
  const exhaust = (key = 'ada') => {
    for (let count = 0; count < 6; count += 1) take(minute, key);
  };

  test('is not asked for again until the cap is over, and tells the time that is left by then', () => {
    exhaust();
    const first = take();
    asked = 0;
    for (let passed = 1; passed < CAP; passed += 1) {
      now += 1;
      expect(take()).toMatchObject({ outcome: 'denied', retryAfterMs: first.nextMs - passed });
    }
    expect(asked).toBe(0);
    now += 1;
    expect(take()).toMatchObject({ outcome: 'denied', retryAfterMs: first.nextMs - CAP });
    expect(asked).toBe(1);
  });

  test('is asked for again by one, and the others are refused until it has been answered', () => {
    exhaust();
    now += CAP;
    asked = 0;
    expect(cache.find([attempt(minute, 'ada', 1)])).toBeUndefined();
    for (let count = 0; count < 10; count += 1) expect(take().outcome).toBe('denied');
    expect(asked).toBe(0);
    now += 50; // it was not answered
    take();
    expect(asked).toBe(1);
  });

  test('ends by the time at which it was asked, so that slow answers make nobody wait longer', () => {
    for (let count = 0; count < 10; count += 1) take(steady);
    late = 20;
    // Asked at 0, decided at 20 and answered at 40: it is denied until 100.
    expect(take(steady)).toMatchObject({ outcome: 'denied', retryAfterMs: 80 });
    [late, asked] = [0, 0];
    now = START + 79;
    const known = take(steady);
    expect([asked, known.outcome]).toEqual([0, 'denied']);
    // Whoever waits as long as he is told has waited long enough.
    expect(now + known.nextMs).toBeGreaterThanOrEqual(START + 100);
    now = START + 80;
    expect(take(steady)).toMatchObject({ outcome: 'denied', retryAfterMs: 20 });
    expect(asked).toBe(1);
    now = START + 100;
    expect(take(steady).outcome).toBe('allowed');
  });

  test('is of the same numbers and the same cost only', () => {
    exhaust();
    asked = 0;
    take(minute, 'ada', 2);
    take(toRule({ algorithm: 'fixed-window', limit: 4, window: '1m' }));
    take(minute, 'bob');
    expect(asked).toBe(3);
    // And each of them is known by then, beside the others.
    take(minute, 'ada', 2);
    take();
    expect(asked).toBe(3);
  });

  test('what nobody can ever have is known for no longer', () => {
    expect(take(minute, 'ada', 6)).toMatchObject({ outcome: 'denied', retryAfterMs: undefined });
    expect(take(minute, 'ada', 6)).toMatchObject({ outcome: 'denied', retryAfterMs: undefined });
    expect(asked).toBe(1);
    now += CAP;
    take(minute, 'ada', 6);
    expect(asked).toBe(2);
  });

  test('refuses a request of several, and says of the others nothing', () => {
    exhaust();
    const several = [attempt(minute, 'new', 1), attempt(minute, 'ada', 1)];
    expect(cache.find(several)).toMatchObject({ indexes: [1], verdicts: [{ outcome: 'denied' }] });
    expect(cache.find([several[0]!])).toBeUndefined();
  });

  test('is forgotten when something was given back', () => {
    exhaust();
    cache.forget('ada');
    store.reset('ada');
    expect(take().outcome).toBe('allowed');
  });

  test('is forgotten when somebody takes what was left: the wait is longer then', () => {
    for (let count = 0; count < 7; count += 1) take(steady);
    const first = take(steady, 'ada', 5);
    expect(take(steady, 'ada', 2).outcome).toBe('allowed');
    asked = 0;
    const second = take(steady, 'ada', 5);
    expect(asked).toBe(1);
    expect([first, second]).toMatchObject([{ retryAfterMs: 200 }, { retryAfterMs: 400 }]);
  });

  test('is forgotten when a clock that was handed in steps back, whatever is asked for then', () => {
    exhaust();
    now -= 1;
    take(minute, 'ada', 0);
    now += 1;
    asked = 0;
    take();
    expect(asked).toBe(1);
  });

  test('does not count for places, which are given back at any time', () => {
    const places = toRule({ algorithm: 'concurrency', limit: 1, lease: '1m' });
    for (let count = 0; count < 3; count += 1) take(places);
    expect(asked).toBe(3);
  });

  test('is bounded, and nobody is freed by it', () => {
    for (let client = 0; client < 1_000; client += 1) exhaust(`client-${client}`);
    expect(cache.size).toBe(100);
    for (let client = 0; client < 1_000; client += 1)
      expect(take(minute, `client-${client}`).outcome).toBe('denied');
    expect(cache.size).toBe(100);
  });

  test('what has ended goes as others come', () => {
    for (let client = 0; client < 100; client += 1) exhaust(`client-${client}`);
    now += CAP + 50;
    for (let client = 0; client < 60; client += 1) exhaust(`other-${client}`);
    expect(cache.size).toBe(60);
  });

  test('costs a client nothing that sends steadily above its limit, in time or too early', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.nat(30), fc.nat(300)), { minLength: 200, maxLength: 400 }),
        fc.constantFrom(steady, minute, toRule({ algorithm: 'sliding-counter', limit: 7, window: '2s' })),
        (pauses, rule) => {
          now = START;
          const [knowing, asking] = [new DenyCache(CAP, () => now), new MemoryStore(() => now)];
          const twin = new MemoryStore(() => now);
          for (const pause of pauses) {
            now += pause;
            const attempts = [attempt(rule, 'ada', 1)];
            const known = knowing.find(attempts);
            const answer = known ?? asking.consume(attempts);
            if (known === undefined) knowing.remember(attempts, answer);
            expect(answer.verdicts).toEqual(twin.consume(attempts).verdicts);
          }
        },
      ),
    );
  });
});
