import { describe, expect, test } from '@jest/globals';
import { toRule } from '../../../testing/asking.js';
import { MemoryStore } from './memory-store.js';

const START = 1_000_000_000_000;

describe('the memory store', () => {
  const open = () => {
    const clock = { now: START };
    return { clock, store: new MemoryStore(() => clock.now) };
  };
  const minute = toRule({ algorithm: 'fixed-window', limit: 2, window: '1m' });
  const hour = toRule({ algorithm: 'fixed-window', limit: 2, window: '1h' });

  test('lets go of what has run out as new keys come, so that it holds no more than twice what is in use', () => {
    const { clock, store } = open();
    for (let client = 0; client < 100_000; client += 1) {
      clock.now += 10; // 6,000 new clients a minute
      store.consume([{ rule: minute, key: `client-${client}`, cost: 1 }]);
    }
    expect(store.size).toBeLessThan(12_000);
  });

  test('keeps a refused client through a flood of new ones, until its time has come', () => {
    const { clock, store } = open();
    const begin = START + 3_600_000 - (START % 3_600_000);
    clock.now = begin;
    const take = () => store.consume([{ rule: hour, key: 'blocked', cost: 1 }]).verdicts[0]!.outcome;
    expect([take(), take(), take()]).toEqual(['allowed', 'allowed', 'denied']);
    for (let client = 0; client < 50_000; client += 1) {
      store.consume([{ rule: minute, key: `client-${client}`, cost: 1 }]);
      if (client % 1_000 === 0) clock.now += 60_000;
    }
    clock.now = begin + 3_600_000 - 1;
    expect(take()).toBe('denied');
    clock.now += 1;
    expect(take()).toBe('allowed');
  });

  test('keeps a state for as long as a denial under a longer window promises', () => {
    const { clock, store } = open();
    store.consume([{ rule: minute, key: 'client', cost: 2 }]);
    expect(store.consume([{ rule: hour, key: 'client', cost: 1 }]).verdicts[0]!.outcome).toBe('denied');
    clock.now += 120_000;
    for (let client = 0; client < 20_000; client += 1) {
      store.consume([{ rule: minute, key: `client-${client}`, cost: 1 }]);
    }
    expect(store.consume([{ rule: hour, key: 'client', cost: 1 }]).verdicts[0]!.outcome).toBe('denied');
  });

  test('holds nothing for looks, refusals and what was given back', () => {
    const { store } = open();
    store.consume([{ rule: minute, key: 'looks', cost: 0 }]);
    store.consume([{ rule: minute, key: 'asks for too much', cost: 3 }]);
    store.consume([{ rule: minute, key: 'gives back', cost: 1 }]);
    store.consume([{ rule: minute, key: 'gives back', cost: -1 }]);
    expect(store.size).toBe(0);
  });

  describe('when it is full', () => {
    const MOST = 2_000;
    const openSmall = () => {
      const clock = { now: START };
      const store = new MemoryStore(() => clock.now, MOST);
      const take = (key: string, cost = 1, policy = 'api') =>
        store.consume([{ rule: hour, key: `rl:{${key}}:${policy}:fw`, cost }]).verdicts[0]!;
      return { clock, store, take };
    };

    test('holds no more, and keeps whoever is blocked', () => {
      const { store, take } = openSmall();
      for (let client = 0; client < 100; client += 1) {
        take(`blocked-${client}`, 2);
        take(`refused-${client}`);
        expect(take(`refused-${client}`, 2).outcome).toBe('denied');
      }
      for (let client = 0; client < 100_000; client += 1) take(`new-${client}`);
      expect(store.size).toBe(MOST);
      for (let client = 0; client < 100; client += 1) {
        expect(take(`blocked-${client}`).outcome).toBe('denied');
        expect(take(`refused-${client}`, 2).outcome).toBe('denied');
      }
    });

    test('lets the idle go before the busy', () => {
      const { take } = openSmall();
      const forever = toRule({ algorithm: 'fixed-window', limit: 1_000_000, window: '1h' });
      const { store } = openSmall();
      const busy = () =>
        store.consume([{ rule: forever, key: 'rl:{busy}:api:fw', cost: 1 }]).verdicts[0]!.remaining;
      let last = busy();
      for (let client = 0; client < 50_000; client += 1) {
        store.consume([{ rule: forever, key: `rl:{idle-${client}}:api:fw`, cost: 1 }]);
        if (client % 100 !== 0) continue;
        const remaining = busy();
        expect(remaining).toBe(last - 1);
        last = remaining;
      }
      expect(take('other').outcome).toBe('allowed');
    });

    test('counts the new ones of a policy together, where everybody is blocked', () => {
      const { clock, store, take } = openSmall();
      for (let client = 0; client < MOST; client += 1) take(`blocked-${client}`, 2);
      expect([take('ada').outcome, take('bob').outcome, take('cleo').outcome]).toEqual([
        'allowed',
        'allowed',
        'denied',
      ]);
      expect(take('ada', 1, 'other').outcome).toBe('allowed');
      expect(store.size).toBe(MOST + 2);
      clock.now += 3_600_000;
      expect(take('cleo').outcome).toBe('allowed');
    });
  });
});
