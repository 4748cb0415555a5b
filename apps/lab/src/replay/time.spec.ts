import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { parseStamp, parseTime, showLength, StampReader } from './time.js';

const AT = Date.UTC(2026, 2, 1, 12, 0, 0);
const STAMP = '01/Mar/2026:13:00:00 +0100';

describe('time', () => {
  it.each([
    ['2026-03-01T12:00:00Z', AT],
    ['2026-03-01T12:00:00', AT],
    ['2026-03-01 07:00:00.250-05:00', AT + 250],
    ['2026-03-01T13:00:00,5+0100', AT + 500],
    ['2026-03-01T13:00:00 +01', AT],
    [String(AT / 1_000), AT],
    [AT / 1_000 + 0.123, AT + 123],
    [AT, AT],
    [AT * 1_000, AT],
    [AT * 1_000_000, AT],
    ['March 1', NaN],
    ['2026-13-01T12:00:00Z', NaN],
    [-1, NaN],
    [true, NaN],
  ])('of %p is %p', (written, at) => {
    expect(parseTime(written)).toBe(at);
  });

  it('is what Date says, in any zone', () => {
    const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
    const second = fc.integer({ min: 86_400, max: 4_000_000_000 });
    fc.assert(
      fc.property(second, fc.integer({ min: -840, max: 840 }), (seconds, offset) => {
        const local = new Date(seconds * 1_000 + offset * 60_000);
        const two = (number: number) => String(number).padStart(2, '0');
        const zone = `${offset < 0 ? '-' : '+'}${two(Math.floor(Math.abs(offset) / 60))}${two(Math.abs(offset) % 60)}`;
        const day = `${two(local.getUTCDate())}/${months[local.getUTCMonth()]}/${local.getUTCFullYear()}`;
        expect(parseStamp(`${day}:${local.toISOString().slice(11, 19)} ${zone}`)).toBe(seconds * 1_000);
      }),
    );
  });

  it('that is remembered is not that of another line', () => {
    const stamps = new StampReader();
    expect(stamps.read(`[${STAMP}]`, 1)).toBe(AT);
    expect(stamps.read(`[${STAMP}]`, 1)).toBe(AT);
    expect(stamps.read(`[${STAMP.replace(':00 ', ':01 ')}]`, 1)).toBe(AT + 1_000);
    expect(stamps.read('[soon]', 1)).toBeNaN();
    expect(stamps.read(`[${STAMP}]`, 1)).toBe(AT);
  });

  it('is shown short', () => {
    expect([250, 90_000, 600_000, 10_800_000, 432_000_000].map(showLength)).toEqual([
      '250 ms',
      '90 s',
      '10 min',
      '3 h',
      '5 days',
    ]);
  });
});
