import { beforeEach, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { mergeLately, RecentHeavyHitters } from './recent.js';

const WINDOW_MS = 60_000;
const START = 1_000_000_000_000;
const seen = { limit: 10, remaining: 3, denied: false };

describe('lately', () => {
  let now: number;
  let recent: RecentHeavyHitters;

  beforeEach(() => {
    now = START;
    recent = new RecentHeavyHitters(3, WINDOW_MS, () => now);
  });

  const read = () => {
    const { spanMs, entries, total } = recent.export();
    return { spanMs, total, keys: entries.map(([key, asked]) => `${key} ${asked}`) };
  };

  test('is the current window and the one before', () => {
    recent.add('ada', 1, seen);
    now = START + WINDOW_MS - 1;
    recent.add('bob', 2, seen);
    expect(read()).toEqual({ spanMs: WINDOW_MS - 1, total: 3, keys: ['ada 1', 'bob 2'] });
    now = START + WINDOW_MS;
    recent.add('ada', 4, { ...seen, remaining: 0, denied: true });
    expect(read()).toEqual({ spanMs: WINDOW_MS, total: 7, keys: ['ada 5', 'bob 2'] });
    // By the last decision.
    expect(recent.export().entries[0]).toEqual(['ada', 5, 1, 10, 0]);
    now = START + 2 * WINDOW_MS - 1;
    expect(read()).toEqual({ spanMs: 2 * WINDOW_MS - 1, total: 7, keys: ['ada 5', 'bob 2'] });
    now = START + 2 * WINDOW_MS;
    expect(read()).toEqual({ spanMs: WINDOW_MS, total: 4, keys: ['ada 4'] });
  });

  test.each([2, 3, 1_000])('forgets both after a gap of %d windows', (windows) => {
    recent.add('ada', 1, seen);
    now += windows * WINDOW_MS;
    expect(read()).toEqual({ spanMs: WINDOW_MS, total: 0, keys: [] });
    recent.add('bob', 1, seen);
    expect(read().keys).toEqual(['bob 1']);
  });

  test('tells a span that can be divided by from the beginning, and never too short a one', () => {
    expect(read().spanMs).toBe(1);
    now += 7.25;
    expect(read().spanMs).toBe(8);
  });

  test('goes on where it was when the clock steps back', () => {
    now += WINDOW_MS + 10;
    recent.add('ada', 1, seen);
    now -= 3_600_000;
    recent.add('ada', 1, seen);
    expect(read()).toEqual({ spanMs: WINDOW_MS + 10, total: 2, keys: ['ada 2'] });
    now += 2 * WINDOW_MS - 11;
    expect(read()).toEqual({ spanMs: 2 * WINDOW_MS - 1, total: 2, keys: ['ada 2'] });
    now += 1;
    expect(read()).toEqual({ spanMs: WINDOW_MS, total: 0, keys: [] });
  });

  test('holds what was asked for in the last window, and nothing older than two, whatever the clock does', () => {
    const event = fc.record({
      key: fc.constantFrom('ada', 'bob', 'cyd', '__proto__'),
      asked: fc.integer({ min: 1, max: 5 }),
      passed: fc.oneof(fc.nat(20), fc.integer({ min: -300, max: 300 })),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        let clock = START;
        const lately = new RecentHeavyHitters(4, 100, () => clock);
        // As time would be that only goes forwards.
        let time = 0;
        const asks: { readonly key: string; readonly asked: number; readonly at: number }[] = [];
        for (const { key, asked, passed } of events) {
          clock += passed;
          time += Math.max(0, passed);
          lately.add(key, asked, seen);
          asks.push({ key, asked, at: time });
          const { spanMs, total, error, entries } = lately.export();
          const sum = (isIn: (at: number) => boolean, of?: string) =>
            asks
              .filter((ask) => isIn(ask.at) && (of ?? ask.key) === ask.key)
              .reduce((all, ask) => all + ask.asked, 0);
          const since = Math.max(0, Math.floor(time / 100) - 1) * 100;
          expect(spanMs).toBe(Math.max(1, time - since));
          expect(spanMs).toBeLessThan(200);
          expect(spanMs).toBeGreaterThanOrEqual(Math.min(100, Math.max(1, time)));
          expect(total).toBe(sum((at) => at >= since));
          expect(total).toBeGreaterThanOrEqual(sum((at) => at > time - 100));
          // There is room for all of them.
          expect(error).toBe(0);
          for (const [name, told] of entries) expect(told).toBe(sum((at) => at >= since, name));
        }
      }),
    );
  });

  test('exports no more than its size, with what is missing of both windows', () => {
    for (let index = 0; index < 100; index += 1) {
      now += 1_000;
      for (const key of [`new${index}`, 'ada']) recent.add(key, 1, seen);
    }
    const { total, error, entries } = recent.export();
    expect(total).toBe(200);
    expect(error).toBeLessThanOrEqual(total / 4);
    expect(entries.length).toBeLessThanOrEqual(3);
    const [, asked] = entries.find(([key]) => key === 'ada')!;
    expect(asked).toBeLessThanOrEqual(100);
    expect(asked).toBeGreaterThanOrEqual(100 - error);
  });
});

describe('what processes were asked for lately', () => {
  test('covers the longest of their spans', () => {
    const [young, old] = [30, 90].map((spanMs, index) => {
      return { spanMs, total: 2, error: 0, entries: [['ada', 2, 1, 10, index]] };
    });
    expect(mergeLately([old, young], 5)).toEqual({
      spanMs: 90,
      total: 4,
      error: 0,
      entries: [{ key: 'ada', asked: 4, denied: 2, limit: 10, remaining: 0 }],
    });
    expect(mergeLately([], 5)).toEqual({ spanMs: 1, total: 0, error: 0, entries: [] });
  });

  test('leaves out what tells no span, and what is no summary', () => {
    const good = { spanMs: 90, total: 2, error: 0, entries: [['ada', 2, 1, 10, 0]] };
    const { spanMs: _, ...without } = good;
    const bad = [
      without,
      { ...good, spanMs: '1' },
      { ...good, spanMs: -1 },
      { ...good, spanMs: Infinity },
      null,
    ];
    expect(mergeLately([...bad, good, { spanMs: 1e6 }], 5)).toEqual(mergeLately([good], 5));
  });

  test('is what each of them exports, sent as JSON', () => {
    let now = START;
    const all = ['ada', 'bob', 'ada'].map((key, index) => {
      const recent = new RecentHeavyHitters(2, WINDOW_MS, () => now);
      now += 1_000;
      recent.add(key, index + 1, seen);
      return recent;
    });
    const merged = mergeLately(
      all.map((each) => JSON.parse(JSON.stringify(each.export())) as unknown),
      2,
    );
    expect(merged.entries.map(({ key, asked }) => [key, asked])).toEqual([
      ['ada', 4],
      ['bob', 2],
    ]);
    expect(merged.spanMs).toBe(3_000);
  });
});
