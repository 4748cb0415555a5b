import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Clients, Counts, percentile } from './clients.js';
import { parsePolicy } from './policy-option.js';
import { Timeline } from './timeline.js';

const BASE = Date.UTC(2026, 2, 1, 12, 0, 0);

describe('a policy', () => {
  it('is read', () => {
    expect(parsePolicy('api=token-bucket:100/1m:burst=20').policy).toEqual({
      algorithm: 'token-bucket',
      limit: 100,
      window: '1m',
      burst: 20,
    });
    expect(parsePolicy('daily=quota:10/day:timeZone=Europe/Berlin').policy).toEqual({
      algorithm: 'quota',
      limit: 10,
      period: 'day',
      timeZone: 'Europe/Berlin',
    });
  });
});

describe('counting', () => {
  it.each([
    [50, 5],
    [95, 10],
    [90, 9],
    [99, 10],
    [1, 1],
  ])('the %d th percentile of one to ten is %d', (percent, value) => {
    expect(
      percentile(
        Float64Array.from({ length: 10 }, (_, index) => index + 1),
        percent,
      ),
    ).toBe(value);
  });

  it('of nobody is nothing', () => {
    expect(percentile(new Float64Array(), 95)).toBe(0);
    expect([new Counts().get(5_000), new Clients(1).size]).toEqual([0, 0]);
  });

  it('over time loses nothing, however long it is', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 10_000_000 }), { minLength: 1 }), (gaps) => {
        const timeline = new Timeline(1);
        let at = BASE;
        const times = gaps.map((gap) => (at += gap));
        for (const time of times) {
          timeline.add(time);
          if (time % 3 === 0) timeline.refuse(0);
        }
        const bars = timeline.bars();
        expect(bars.length).toBeLessThanOrEqual(120);
        for (const { from, requests, refused } of bars) {
          const inBar = times.filter((time) => time >= from && time < from + timeline.width);
          expect([requests, refused[0]]).toEqual([
            inBar.length,
            inBar.filter((time) => time % 3 === 0).length,
          ]);
        }
      }),
    );
  });
});
