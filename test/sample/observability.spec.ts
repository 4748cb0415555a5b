import { beforeEach, describe, expect, test } from '@jest/globals';
import type { RunningApp } from '../support/app.js';
import { statuses } from '../support/little.js';
import { sampleCases, samples } from '../support/sample.js';

const sample = samples();
const adminToken = 'let me in';
const headers = { authorization: `Bearer ${adminToken}` };
const HERE = '127.0.0.1';

describe.each(sampleCases)('what the sample on %s, counting in %s, shows in operation', (adapter, store) => {
  let app: RunningApp;

  beforeEach(async () => {
    app = await sample.start(adapter, store, { adminToken, clock: () => 1_800_000_000_000 });
  });

  test('is for the admin alone', async () => {
    for (const path of ['/metrics', '/admin/top/api']) {
      expect((await app.fetch(path)).status).toBe(401);
      expect((await app.fetch(path, { headers: { authorization: 'Bearer guess' } })).status).toBe(401);
    }
  });

  test('is what Prometheus reads, as often as it likes', async () => {
    await statuses(app, '/products', 7);
    expect(new Set(await statuses(app, '/metrics', 100, { headers }))).toEqual(new Set([200]));
    const response = await app.fetch('/metrics', { headers });
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const text = await response.text();
    const count = (policy: string, outcome: string, more = '') => {
      const labels = `rate_limit_policy="${policy}",rate_limit_outcome="${outcome}",rate_limit_store="${store}"${more},`;
      return Number(new RegExp(`^rate_limit_decisions_total{${labels}.*} (\\d+)$`, 'm').exec(text)?.[1]);
    };
    expect(count('api', 'allowed')).toBe(5);
    expect(count('api', 'denied')).toBe(2);
    expect(count('api-next', 'allowed', ',rate_limit_shadow="allowed"')).toBe(3);
    expect(count('login', 'allowed')).toBe(0);
    expect(text).not.toContain(HERE);
  });

  test('is who asked for most', async () => {
    await statuses(app, '/products', 7);
    const { keys } = (await (await app.fetch('/admin/top/api', { headers })).json()) as { keys: unknown[] };
    expect(keys).toEqual([{ key: HERE, asked: expect.any(Number), denied: 2, limit: 5, remaining: 0 }]);
    expect((keys[0] as { asked: number }).asked).toBeCloseTo(1.4);
    const unknown = await app.fetch('/admin/top/constructor', { headers });
    expect([unknown.status, await unknown.json()]).toMatchObject([
      400,
      { message: 'There is no policy "constructor".' },
    ]);
  });

  test('is how long decisions took', async () => {
    const field = (await app.fetch('/products')).headers.get('server-timing');
    expect(field).toMatch(/^ratelimit-decision;dur=\d+\.\d\d$/);
  });
});

describe.each(sampleCases)('the sample on %s, counting in %s,', (adapter, store) => {
  test('tells what was bought together with a product, most often first', async () => {
    const app = await sample.start(adapter, store);
    const names = async (id: string) =>
      ((await (await app.fetch(`/products/${id}/bought-with`)).json()) as { id: string }[]).map(
        (each) => each.id,
      );
    expect((await names('kettle')).toSorted()).toEqual(['cup', 'strainer', 'teapot']);
    expect((await names('cup')).toSorted()).toEqual(['kettle', 'strainer', 'teapot']);
    expect((await app.fetch('/products/nothing/bought-with')).status).toBe(404);
  });
});
