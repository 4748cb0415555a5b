import { beforeEach, describe, expect, test } from '@jest/globals';
import type { RunningApp } from '../support/app.js';
import { members } from '../support/fields.js';
import { statuses } from '../support/little.js';
import { as, sampleCases, samples } from '../support/sample.js';

const sample = samples();
const HOUR_MS = 3_600_000;

describe.each(sampleCases)("the sample's reports on %s, counting in %s", (adapter, store) => {
  let app: RunningApp;
  let now: number;

  beforeEach(async () => {
    now = Date.parse('2026-06-01T14:00:00Z');
    app = await sample.start(adapter, store, { clock: () => now });
  });

  const reports = (tenant: string, times: number) => statuses(app, '/v1/reports', times, as(tenant));

  test('are made for the tenant and its day', async () => {
    const response = await app.fetch('/v1/reports', as('kobe'));
    expect(response.status).toBe(200);
    const day = new Intl.DateTimeFormat('en-CA', { timeZone: 'Asia/Tokyo' }).format(new Date());
    expect(await response.json()).toMatchObject({ tenant: 'Kobe Cups', timeZone: 'Asia/Tokyo', day });
  });

  test('are limited by plan', async () => {
    expect(await reports('acme', 4)).toEqual([200, 200, 200, 429]);
    expect(await reports('hafen', 4)).toEqual([200, 200, 200, 200]);
    const unlimited = await app.fetch('/v1/reports', as('grand'));
    expect(members(unlimited, 'RateLimit-Policy').map(({ name }) => name)).toEqual(['requests']);
  });

  test.each([
    ['acme', 'UTC', 3, 10],
    ['kobe', 'Asia/Tokyo', 3, 1],
    ['hafen', 'Europe/Berlin', 50, 8],
  ])('of %s come back at midnight of %s', async (tenant, _, limit, hours) => {
    const response = await app.fetch('/v1/reports', as(tenant));
    expect(members(response, 'RateLimit-Policy')[1]).toEqual({ name: 'reports', q: limit });
    expect(members(response, 'RateLimit')[1]).toEqual({ name: 'reports', r: limit - 1, t: hours * 3_600 });
    now += hours * HOUR_MS - 1;
    const before = await app.fetch('/v1/reports', as(tenant));
    expect(members(before, 'RateLimit')[1]).toMatchObject({ r: limit - 2 });
    now += 1;
    const after = await app.fetch('/v1/reports', as(tenant));
    expect(members(after, 'RateLimit')[1]).toMatchObject({ r: limit - 1 });
  });

  test('that are used up say when to come back', async () => {
    await reports('kobe', 3);
    const refused = await app.fetch('/v1/reports', as('kobe'));
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('3600');
    expect(await refused.json()).toMatchObject({ 'violated-policies': ['reports'] });
  });
});
