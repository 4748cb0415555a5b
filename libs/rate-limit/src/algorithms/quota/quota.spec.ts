import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { take, toRule } from '../../../testing/asking.js';
import { describeLaws } from '../../../testing/law.js';
import { openValkey } from '../../../testing/stores.js';
import { MemoryStore } from '../../storage/memory/memory-store.js';
import type { Rule } from '../index.js';
import { Calendar, type CalendarOptions } from './calendar.js';
import type { QuotaOptions } from './quota.js';

const HOUR = 3_600_000;
const at = (text: string) => Date.parse(text);

function period(options: CalendarOptions, now: string): readonly [string, string] {
  const [, start, end] = new Calendar(options).around(at(now));
  return [new Date(start).toISOString(), new Date(end).toISOString()];
}

describe('a calendar', () => {
  test.each([
    // period, time zone, anchor, now, from, to
    [
      'hour',
      'Asia/Kolkata',
      1,
      '2026-11-30T10:15:00Z',
      '2026-11-30T09:30:00.000Z',
      '2026-11-30T10:30:00.000Z',
    ],
    ['day', 'UTC', 1, '2026-11-30T23:59:59.999Z', '2026-11-30T00:00:00.000Z', '2026-12-01T00:00:00.000Z'],
    [
      'day',
      'America/New_York',
      1,
      '2026-11-30T03:00:00Z',
      '2026-11-29T05:00:00.000Z',
      '2026-11-30T05:00:00.000Z',
    ],
    [
      'week',
      'Europe/Berlin',
      1,
      '2026-11-29T22:59:59Z',
      '2026-11-22T23:00:00.000Z',
      '2026-11-29T23:00:00.000Z',
    ],
    ['week', 'UTC', 7, '2026-11-30T00:00:00Z', '2026-11-29T00:00:00.000Z', '2026-12-06T00:00:00.000Z'],
    ['month', 'UTC', 1, '2024-02-15T00:00:00Z', '2024-02-01T00:00:00.000Z', '2024-03-01T00:00:00.000Z'],
    ['month', 'UTC', 31, '2026-02-15T00:00:00Z', '2026-01-31T00:00:00.000Z', '2026-02-28T00:00:00.000Z'],
    ['month', 'UTC', 31, '2026-02-28T00:00:00Z', '2026-02-28T00:00:00.000Z', '2026-03-31T00:00:00.000Z'],
    ['month', 'UTC', 15, '2026-01-14T23:59:59Z', '2025-12-15T00:00:00.000Z', '2026-01-15T00:00:00.000Z'],
  ] as const)('%s in %s from %d holds %s', (name, timeZone, anchor, now, from, to) => {
    expect(period({ period: name, timeZone, anchor }, now)).toEqual([from, to]);
  });

  test('a day on which the clocks change has 23 or 25 hours', () => {
    const hours = (now: string) => {
      const [, start, end] = new Calendar({ period: 'day', timeZone: 'Europe/Berlin', anchor: 1 }).around(
        at(now),
      );
      return (end - start) / HOUR;
    };
    expect(hours('2026-03-29T12:00:00Z')).toBe(23);
    expect(hours('2026-10-25T12:00:00Z')).toBe(25);
    expect(hours('2026-10-26T12:00:00Z')).toBe(24);
  });

  test('where midnight does not exist, the day begins when there is one', () => {
    // Cairo goes from 00:00 to 01:00 on the last Friday of April.
    const [start, end] = period(
      { period: 'day', timeZone: 'Africa/Cairo', anchor: 1 },
      '2026-04-24T12:00:00Z',
    );
    expect([start, end]).toEqual(['2026-04-23T22:00:00.000Z', '2026-04-24T21:00:00.000Z']);
  });

  test('periods follow each other without a gap, and hold the time they are asked for', () => {
    const zones = [
      'UTC',
      'Europe/Berlin',
      'America/New_York',
      'Asia/Kolkata',
      'Africa/Cairo',
      'Australia/Lord_Howe',
      'Pacific/Apia',
    ];
    const options = fc.record({
      period: fc.constantFrom('hour' as const, 'day' as const, 'week' as const, 'month' as const),
      timeZone: fc.constantFrom(...zones),
      anchor: fc.integer({ min: 1, max: 7 }),
    });
    fc.assert(
      fc.property(options, fc.integer({ min: at('2009-01-01'), max: at('2040-01-01') }), (written, now) => {
        const [before, start, end, after] = new Calendar(written).around(now);
        expect(before).toBeLessThan(start);
        expect(start).toBeLessThanOrEqual(now);
        expect(now).toBeLessThan(end);
        expect(end).toBeLessThan(after);
        expect(new Calendar(written).around(end)[1]).toBe(end);
        expect(new Calendar(written).around(start - 1)[2]).toBe(start);
      }),
      { numRuns: 300 },
    );
  });
});

describe('quota', () => {
  test('resetMs points at the boundary', () => {
    let now = at('2026-01-31T22:00:00Z');
    const store = new MemoryStore(() => now);
    const rule = toRule({ algorithm: 'quota', limit: 2, period: 'month', timeZone: 'Europe/Berlin' });
    const ask = (cost: number) => store.consume([{ rule, key: 'tenant', cost }]).verdicts[0];
    expect(ask(2)).toMatchObject({ outcome: 'allowed', remaining: 0, resetMs: HOUR });
    expect(ask(1)).toMatchObject({ outcome: 'denied', retryAfterMs: HOUR });
    now += HOUR;
    expect(ask(1)).toMatchObject({ outcome: 'allowed', remaining: 1, resetMs: 28 * 24 * HOUR });
  });

  test.each([-50, -3, -1, 1, 3, 50])(
    'a process whose clock is %d hours off gains nothing, and frees nobody',
    async (hours) => {
      const store = await openValkey();
      const right = toRule({ algorithm: 'quota', limit: 3, period: 'hour' });
      const wrong: Rule = { ...right, args: (ask, now) => right.args(ask, () => now() + hours * HOUR) };
      const [key, fresh] = [store.key(), store.key()];
      await take(store, right, key, 2);
      expect(await take(store, wrong, key, 1)).toMatchObject({ outcome: 'allowed', remaining: 0 });
      expect(await take(store, right, key, 1)).toMatchObject({ outcome: 'denied', remaining: 0 });
      expect(await take(store, wrong, fresh, 3)).toMatchObject({ outcome: 'allowed', remaining: 0 });
      const denied = await take(store, wrong, fresh, 1);
      expect(denied.outcome).toBe('denied');
      expect(denied.resetMs).toBeGreaterThan(0);
      expect(denied.resetMs).toBeLessThanOrEqual(HOUR);
      await store.close();
    },
  );

  test('what a calendar cannot have is refused', () => {
    const rule = (options: object) => () => toRule({ algorithm: 'quota', limit: 1, ...options } as never);
    expect(rule({ period: 'day', timeZone: 'Europe/Berlim' })).toThrow(
      /timeZone must be the IANA name .* not "Europe\/Berlim"/,
    );
    expect(rule({ period: 'fortnight' })).toThrow(
      /period must be 'hour', 'day', 'week' or 'month', not "fortnight"/,
    );
    expect(rule({ window: '1d' })).toThrow(/say period .* instead of window/);
    expect(rule({ period: 'week', anchor: 8 })).toThrow(/anchor must be a whole number from 1 to 7, not 8/);
    expect(rule({ period: 'month', anchor: 0 })).toThrow(/anchor must be a whole number from 1 to 31, not 0/);
  });
});

describeLaws(
  'quota',
  fc.oneof(
    fc.record({
      algorithm: fc.constant('quota' as const),
      limit: fc.nat(12),
      period: fc.constantFrom('hour' as const, 'day' as const),
      timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Kolkata'),
    }),
    fc.record({
      algorithm: fc.constant('quota' as const),
      limit: fc.nat(100_000),
      period: fc.constantFrom('week' as const, 'month' as const),
      timeZone: fc.constantFrom('UTC', 'America/New_York'),
      anchor: fc.integer({ min: 1, max: 7 }),
    }),
  ) satisfies fc.Arbitrary<QuotaOptions>,
  { typical: { algorithm: 'quota', limit: 1_000, period: 'month' }, bytes: 64 },
);
