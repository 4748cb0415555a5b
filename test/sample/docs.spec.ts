import { describe, expect, test } from '@jest/globals';
import { apiDocument, serveDocs } from '../../apps/api/src/docs.js';
import { adapters } from '../support/app.js';
import { startSample } from '../support/sample.js';

interface Operation {
  readonly responses: Record<string, { readonly headers?: object; readonly content?: object }>;
  readonly security?: readonly object[];
}

describe.each(adapters)("the sample's OpenAPI document on %s", (adapter) => {
  const operations = async () => {
    const { app } = await startSample(adapter);
    return Object.entries(apiDocument(app).paths).flatMap(([path, methods]) =>
      Object.entries(methods as Record<string, Operation>).map(([method, operation]) => ({
        route: `${method.toUpperCase()} ${path}`,
        ...operation,
      })),
    );
  };

  test('says of every limited route how it is refused', async () => {
    const limited = (await operations()).filter(({ responses }) => 429 in responses);
    expect(limited.map(({ route }) => route).toSorted()).toEqual([
      'DELETE /admin/tenants/{id}/limits/{policy}',
      'DELETE /admin/tenants/{id}/usage/{policy}',
      'GET /admin/live',
      'GET /admin/shadows',
      'GET /admin/tenants/{id}/usage',
      'GET /admin/top/{policy}',
      'GET /metrics',
      'GET /products',
      'GET /products/{id}',
      'GET /products/{id}/bought-with',
      'GET /v1/products',
      'GET /v1/reports',
      'GET /v1/search',
      'POST /login',
      'POST /otp',
      'PUT /admin/tenants/{id}/limits/{policy}',
    ]);
    for (const { responses } of limited) {
      const { headers, content } = responses[429]!;
      expect(Object.keys(headers!)).toEqual(['Retry-After', 'RateLimit', 'RateLimit-Policy']);
      expect(Object.keys(content!)).toEqual(['application/problem+json']);
    }
  });

  test('keeps what else routes answer, and who may ask', async () => {
    const find = async (wanted: string) => (await operations()).find(({ route }) => route === wanted)!;
    const search = await find('GET /v1/search');
    expect(Object.keys(search.responses)).toEqual(['200', '401', '429']);
    expect(search.security).toEqual([{ 'API key': [] }]);
    expect(Object.keys((await find('POST /login')).responses)).toEqual(['200', '429']);
    expect(Object.keys((await find('POST /otp')).responses)).toEqual(['202', '429']);
    expect((await find('GET /admin/tenants/{id}/usage')).security).toEqual([{ bearer: [] }]);
    expect((await find('GET /health')).responses).not.toHaveProperty('429');
  });
});

// On Fastify the page needs @fastify/static, which Jest cannot load on Node 20: test/sample-process.spec.ts has it.
test('the page is served beside it', async () => {
  const app = await startSample('express', { app: serveDocs });
  expect(await (await app.fetch('/docs')).text()).toContain('swagger-ui');
  expect(await (await app.fetch('/docs-json')).json()).toEqual(
    JSON.parse(JSON.stringify(apiDocument(app.app))),
  );
});
