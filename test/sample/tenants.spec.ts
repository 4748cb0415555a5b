import { beforeEach, describe, expect, test } from '@jest/globals';
import type { RunningApp } from '../support/app.js';
import { members } from '../support/fields.js';
import { statuses } from '../support/little.js';
import { as, sampleCases, samples } from '../support/sample.js';

const sample = samples();

describe.each(sampleCases)("the sample's tenants on %s, counting in %s", (adapter, store) => {
  let app: RunningApp;

  beforeEach(async () => {
    app = await sample.start(adapter, store, { clock: () => 1_800_000_000_000 });
  });

  test.each([
    ['acme', 60, 9],
    ['hafen', 600, 99],
    ['grand', 6_000, 999],
  ])('%s has the limit of its plan', async (tenant, limit, left) => {
    const response = await app.fetch('/v1/products', as(tenant));
    expect(response.status).toBe(200);
    expect(members(response, 'RateLimit-Policy')).toEqual([{ name: 'requests', q: limit, w: 60 }]);
    expect(members(response, 'RateLimit')).toEqual([{ name: 'requests', r: left, t: 1 }]);
  });

  test('are each limited on their own, over all routes together', async () => {
    expect(await statuses(app, '/v1/products', 6, as('acme'))).not.toContain(429);
    expect(await statuses(app, '/v1/search', 4, as('acme'))).not.toContain(429);
    expect(await statuses(app, '/v1/products', 2, as('acme'))).toEqual([429, 429]);
    expect(await statuses(app, '/v1/reports', 1, as('acme'))).toEqual([429]);
    expect(await statuses(app, '/v1/products', 1, as('kobe'))).toEqual([200]);
    expect(await statuses(app, '/products', 1)).toEqual([200]);
  });

  test('have one limit, whichever of their keys they send', async () => {
    const left = async (tenant: string) =>
      members(await app.fetch('/v1/products', as(tenant)), 'RateLimit')[0]!['r'];
    expect([await left('hafen'), await left('hafen-other'), await left('hafen')]).toEqual([99, 98, 97]);
  });

  test.each([
    ['no key', {}],
    ['an empty key', { 'x-api-key': '' }],
    ['a wrong key', { 'x-api-key': 'acme-demo-kez' }],
    ['the name of a tenant', { 'x-api-key': 'acme' }],
    ['two keys', { 'x-api-key': 'acme-demo-key, hafen-demo-key' }],
  ])('are not those who send %s', async (_, headers) => {
    for (const path of ['/v1/products', '/v1/search', '/v1/reports']) {
      const response = await app.fetch(path, { headers });
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ message: 'Send your API key in the field "x-api-key".' });
    }
  });

  test('are not held up by a stranger at their address, who tries one key after the other', async () => {
    const seen: number[] = [];
    for (let count = 0; count < 12; count += 1) {
      seen.push((await app.fetch('/v1/products', as(`guess-${count}`))).status);
    }
    expect(seen).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429]);
    expect(await statuses(app, '/v1/products', 1, as('acme'))).toEqual([200]);
  });

  test('leave their names and no secrets in Valkey', async () => {
    await app.fetch('/v1/search', as('acme'));
    await app.fetch('/v1/products', as('guess'));
    const keys = await sample.client.keys('*');
    const found = ['rl:{acme}:requests:tb', 'rl:{acme}:search:sc', 'rl:{stranger|127.0.0.1}:requests:tb'];
    expect(keys.toSorted()).toEqual(store === 'valkey' ? found : []);
  });
});
