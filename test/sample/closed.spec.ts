import { describe, expect, test } from '@jest/globals';
import { adapters } from '../support/app.js';
import { limitFields } from '../support/fields.js';
import { as, json, startSample } from '../support/sample.js';
import { ownValkey } from '../support/valkey.js';

const token = { authorization: 'Bearer let me in' };

describe.each(adapters)('the sample on %s, whose Valkey is gone', (adapter) => {
  test('closes what must not be guessed or costs money, and limits the rest by itself', async () => {
    const server = await ownValkey();
    const app = await startSample(adapter, { valkey: server.url, adminToken: 'let me in' });
    const logIn = () => app.fetch('/login', json('POST', { username: 'ada', password: 'analytical engine' }));
    expect((await logIn()).status).toBe(200);
    await server.stop();

    for (const response of [
      await logIn(),
      await app.fetch('/otp', json('POST', { phone: '+49301234567' })),
    ]) {
      expect(response.status).toBe(503);
      expect(limitFields(response)).toEqual(['retry-after']);
      expect(await response.json()).toMatchObject({
        type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      });
    }
    expect((await app.fetch('/v1/products', as('acme'))).status).toBe(200);
    expect((await app.fetch('/v1/products', as('nobody'))).status).toBe(401);
    expect((await app.fetch('/admin/tenants/acme/usage', { headers: token })).status).toBe(200);
    const changes = [
      await app.fetch('/admin/tenants/acme/limits/requests', json('PUT', { limit: 5 }, token)),
      await app.fetch('/admin/tenants/acme/limits/requests', { method: 'DELETE', headers: token }),
      await app.fetch('/admin/tenants/acme/usage/requests', { method: 'DELETE', headers: token }),
    ];
    expect(changes.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(await (await app.fetch('/health')).json()).toMatchObject({
      details: { rateLimit: { status: 'degraded' } },
    });
  });
});
