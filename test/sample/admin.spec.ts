import { beforeEach, describe, expect, test } from '@jest/globals';
import type { RunningApp } from '../support/app.js';
import { statuses } from '../support/little.js';
import { as, json, sampleCases, samples } from '../support/sample.js';

const sample = samples();
const adminToken = 'let me in';
const START = 1_800_000_000_000;
const REFUSED = 'Send the admin token: "Authorization: Bearer …".';

describe.each(sampleCases)("the sample's admin on %s, counting in %s", (adapter, store) => {
  let app: RunningApp;
  let now: number;

  beforeEach(async () => {
    now = START;
    app = await sample.start(adapter, store, { adminToken, clock: () => now });
  });

  const headers = { authorization: `Bearer ${adminToken}` };
  const ask = (path: string, init: RequestInit = {}) =>
    app.fetch(`/admin/tenants/${path}`, { headers, ...init });
  const put = (path: string, body: unknown) => ask(path, json('PUT', body, headers));
  const remove = async (path: string) => (await ask(path, { method: 'DELETE' })).status;
  const usage = async (tenant: string) => {
    const body = (await (await ask(`${tenant}/usage`)).json()) as { usage: { policy: string }[] };
    return Object.fromEntries(body.usage.map(({ policy, ...numbers }) => [policy, numbers]));
  };

  test('tells what the policies in shadow would have done, to the admin alone', async () => {
    await statuses(app, '/products', 5);
    expect((await app.fetch('/admin/shadows')).status).toBe(401);
    const response = await app.fetch('/admin/shadows', { headers });
    expect(await response.json()).toEqual({ 'api-next': { allowed: 3, denied: 2 } });
  });

  test("shows a tenant's usage, and takes none of it", async () => {
    await app.fetch('/v1/search?pages=4', as('acme'));
    const response = await ask('acme/usage');
    expect(await response.json()).toMatchObject({
      tenant: { id: 'acme', name: 'Acme Tea', plan: 'free', timeZone: 'UTC' },
      usage: [
        { policy: 'requests', limit: 60, remaining: 9, resetMs: 1_000 },
        { policy: 'search', limit: 20, remaining: 16 },
        { policy: 'reports', limit: 3, remaining: 3, resetMs: 0 },
      ],
    });
    expect(await usage('acme')).toMatchObject({ requests: { remaining: 9 }, search: { remaining: 16 } });
    expect(await usage('grand')).toMatchObject({
      requests: { limit: 6_000, remaining: 1_000 },
      reports: { note: 'unlimited' },
    });
  });

  test('gives a tenant another limit for a while, keeps what was used, and gives the old one back', async () => {
    await statuses(app, '/v1/reports', 3, as('acme'));
    const until = new Date(START + 60_000).toISOString();
    const set = await put('acme/limits/reports', { limit: 5, until });
    expect(set.status).toBe(200);
    const changed = { limit: 5, remaining: 2, override: { limit: 5, until: START + 60_000 } };
    expect(await set.json()).toMatchObject({ policy: 'reports', ...changed });
    expect(await usage('acme')).toMatchObject({ reports: changed });
    expect(await usage('kobe')).toMatchObject({ reports: { limit: 3 } });
    expect(await statuses(app, '/v1/reports', 3, as('acme'))).toEqual([200, 200, 429]);
    now += 60_000;
    expect((await usage('acme'))['reports']).toEqual({ limit: 3, remaining: 0, resetMs: expect.any(Number) });
  });

  test('takes an override back', async () => {
    await put('acme/limits/requests', { limit: 1, window: '1h', burst: 1 });
    expect(await statuses(app, '/v1/products', 2, as('acme'))).toEqual([200, 429]);
    expect(await remove('acme/limits/requests')).toBe(204);
    expect(await usage('acme')).toMatchObject({ requests: { limit: 60 } });
    expect((await usage('acme'))['requests']).not.toHaveProperty('override');
    expect(await remove('acme/limits/requests')).toBe(204);
  });

  test('forgets what a tenant has used', async () => {
    await statuses(app, '/v1/reports', 3, as('acme'));
    expect(await remove('acme/usage/reports')).toBe(204);
    expect(await usage('acme')).toMatchObject({ reports: { remaining: 3 }, requests: { remaining: 7 } });
    expect(await statuses(app, '/v1/reports', 1, as('acme'))).toEqual([200]);
  });

  test.each([
    ['a limit that is none', { limit: -1 }, /limit must be a whole number from 0/],
    ['a limit as text', { limit: '5' }, /limit must be a whole number from 0/],
    ['a window, which the algorithm does not have', { window: '1h' }, /no option "window"/],
    ['a foreign option', { limit: 5, ttl: 5 }, /no option "ttl"/],
    ['an end that is over', { limit: 5, until: '2020-01-01' }, /until must be a Date/],
    ['an end that is none', { limit: 5, until: 'soon' }, /until must be a Date/],
    ['nothing', {}, /it changes nothing/],
    ['null', null, /must be an object|not valid JSON/],
    ['a list', [5], /must be an object/],
  ])('refuses %s', async (_, body, message) => {
    const response = await put('acme/limits/reports', body);
    expect(response.status).toBe(400);
    expect(((await response.json()) as { message: string }).message).toMatch(message);
    expect((await usage('acme'))['reports']).not.toHaveProperty('override');
  });

  test('knows the tenants and their policies, and no others', async () => {
    expect((await ask('nobody/usage')).status).toBe(404);
    expect((await put('nobody/limits/reports', { limit: 5 })).status).toBe(404);
    expect((await put('acme/limits/login', { limit: 5 })).status).toBe(404);
    expect([await remove('acme/limits/constructor'), await remove('nobody/usage/reports')]).toEqual([
      404, 404,
    ]);
  });

  test.each([
    ['no token', {}],
    ['a wrong token', { authorization: 'Bearer let me inn' }],
    ['an empty token', { authorization: 'Bearer ' }],
    ['another scheme', { authorization: `Basic ${adminToken}` }],
    ['an API key', { 'x-api-key': 'grand-demo-key' }],
  ])('lets nobody in with %s', async (_, wrong) => {
    for (const [path, init] of [
      ['acme/usage', {}],
      ['acme/usage/reports', { method: 'DELETE' }],
      ['acme/limits/reports', json('PUT', { limit: 5 })],
      ['acme/limits/reports', { method: 'DELETE' }],
    ] as [string, RequestInit][]) {
      const sent = { ...(init.headers as Record<string, string>), ...wrong };
      const response = await ask(path, { ...init, headers: sent });
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ message: REFUSED });
    }
    expect((await usage('acme'))['reports']).not.toHaveProperty('override');
  });

  test('is limited by address, so that its token is not guessed', async () => {
    const wrong = { headers: { authorization: 'Bearer guess' } };
    expect(await statuses(app, '/admin/tenants/acme/usage', 60, wrong)).not.toContain(429);
    expect((await ask('acme/usage')).status).toBe(429);
  });

  test.each([[{}], [{ adminToken: '' }]])('is closed where no token is set: %j', async (options) => {
    const closed = await sample.start(adapter, store, options);
    for (const authorization of ['', 'Bearer ', 'Bearer undefined']) {
      const response = await closed.fetch('/admin/tenants/acme/usage', { headers: { authorization } });
      expect(response.status).toBe(403);
    }
  });
});
