import { beforeEach, describe, expect, test } from '@jest/globals';
import type { RunningApp } from '../support/app.js';
import { members } from '../support/fields.js';
import { statuses } from '../support/little.js';
import { as, sampleCases, samples } from '../support/sample.js';

const sample = samples();

describe.each(sampleCases)("the sample's search on %s, counting in %s", (adapter, store) => {
  let app: RunningApp;

  beforeEach(async () => {
    app = await sample.start(adapter, store, { clock: () => 1_800_000_000_000 });
  });

  const search = (query: string, tenant = 'acme') => app.fetch(`/v1/search${query}`, as(tenant));
  const left = (response: Response) =>
    Object.fromEntries(members(response, 'RateLimit').map(({ name, r }) => [name, r]));

  test('finds, page by page', async () => {
    const names = async (query: string) =>
      ((await (await search(query)).json()) as { name: string }[]).map(({ name }) => name);
    expect(await names('?q=t')).toEqual(['Kettle', 'Teapot']);
    expect(await names('?q=t&pages=2')).toEqual(['Kettle', 'Teapot', 'Strainer']);
    expect(await names('?q=nothing&pages=2')).toEqual([]);
  });

  test('costs what it asks for, and one request', async () => {
    expect(left(await search(''))).toEqual({ requests: 9, search: 19 });
    expect(left(await search('?pages=5'))).toEqual({ requests: 8, search: 14 });
    expect(left(await search('?pages=10'))).toEqual({ requests: 7, search: 4 });
  });

  test('that is refused takes nothing, and a smaller one passes', async () => {
    expect(await statuses(app, '/v1/search?pages=9', 2, as('acme'))).toEqual([200, 200]);
    const refused = await search('?pages=3');
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ 'violated-policies': ['search'] });
    expect(left(await search('?pages=2'))).toEqual({ requests: 7, search: 0 });
  });

  test('is limited by plan', async () => {
    expect(await statuses(app, '/v1/search?pages=10', 3, as('acme'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/v1/search?pages=10', 3, as('hafen'))).toEqual([200, 200, 200]);
    expect(left(await search('?pages=10', 'grand'))).toEqual({ requests: 999, search: 1_990 });
  });

  test.each(['0', '11', '-1', '1.5', 'x', '', '1&pages=1'])(
    'for %j pages is a bad request',
    async (pages) => {
      const response = await search(`?pages=${pages}`);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ message: 'pages is a whole number from 1 to 10.' });
    },
  );
});
