import { beforeEach, describe, expect, test } from '@jest/globals';
import { type Answer, ask } from '../contexts/support/graphql.js';
import type { RunningApp } from '../support/app.js';
import { members } from '../support/fields.js';
import { statuses } from '../support/little.js';
import { as, json, sampleCases, samples } from '../support/sample.js';

const sample = samples();

const CUP = { id: 'cup', name: 'Cup', price: 690 };

const refusedBy = (policy: string, retryAfter: number) => {
  const detail = `The limit "${policy}" is exceeded. Try again in ${retryAfter} second${retryAfter === 1 ? '' : 's'}.`;
  return {
    message: detail,
    extensions: {
      code: 'RATE_LIMITED',
      retryAfter,
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail,
      'violated-policies': [policy],
    },
  };
};

describe.each(sampleCases)("the sample's GraphQL on %s, counting in %s", (adapter, store) => {
  let app: RunningApp;
  let now: number;

  beforeEach(async () => {
    now = 1_800_000_000_000;
    app = await sample.start(adapter, store, { clock: () => now });
  });

  const query = (text: string, tenant = 'acme') => ask(app, text, { 'x-api-key': `${tenant}-demo-key` });
  const left = (answer: Answer | Response) =>
    Object.fromEntries(members(answer as Response, 'RateLimit').map(({ name, r }) => [name, r]));
  const codes = ({ errors }: Answer) => errors.map(({ extensions }) => extensions['code']);

  test('answers with products, and tells the limit of the plan', async () => {
    const products = await query('{ products { id name price } }');
    expect([products.status, products.errors]).toEqual([200, []]);
    expect(products.data!['products']).toHaveLength(4);
    expect(products.data!['products']).toContainEqual(CUP);
    expect(products.headers.get('ratelimit-policy')).toBe('"requests";q=60;w=60');
    expect(products.headers.get('ratelimit')).toBe('"requests";r=9;t=1');
    const { data } = await query('{ product(id: "cup") { id name price } none: product(id: "no") { id } }');
    expect(data).toEqual({ product: CUP, none: null });
    expect(left(await query('{ products { id } }', 'hafen'))).toEqual({ requests: 99 });
  });

  test('refuses what is above it with all members, until the time that it told', async () => {
    for (let count = 0; count < 10; count += 1) await query('{ products { id } }');
    const { status, headers, data, errors } = await query('{ products { id } }');
    expect([status, data]).toEqual([429, { products: null }]);
    expect(errors).toEqual([
      { ...refusedBy('requests', 1), path: ['products'], locations: [expect.anything()] },
    ]);
    expect(headers.get('retry-after')).toBe('1');
    expect(headers.get('ratelimit')).toBe('"requests";r=0;t=1');
    expect(headers.get('cache-control')).toBe('no-store');
    expect((await query('{ products { id } }', 'kobe')).status).toBe(200);
    now += 999;
    expect((await query('{ products { id } }')).status).toBe(429);
    now += 1;
    expect((await query('{ products { id } }')).status).toBe(200);
  });

  test('shares the limit of a tenant with REST', async () => {
    expect(await statuses(app, '/v1/products', 6, as('acme'))).not.toContain(429);
    const { data, errors } = await query('{ a: products { id } b: product(id: "cup") { id } }');
    expect([Object.keys(data!), errors]).toEqual([['a', 'b'], []]);
    expect(left(await app.fetch('/v1/search?pages=3', as('acme')))).toEqual({ requests: 1, search: 17 });
    expect(left(await query('{ search { id } }'))).toEqual({ requests: 0, search: 16 });
    expect(await statuses(app, '/v1/products', 1, as('acme'))).toEqual([429]);
    expect(codes(await query('{ products { id } }'))).toEqual(['RATE_LIMITED']);
  });

  test('counts every alias, and what passes is answered', async () => {
    const aliases = Array.from({ length: 12 }, (_, index) => `p${index}: product(id: "cup") { name }`);
    const answer = await query(`{ ${aliases.join(' ')} }`);
    expect(answer.status).toBe(429);
    expect(Object.values(answer.data!).filter((product) => product !== null)).toHaveLength(10);
    expect(codes(answer)).toEqual(['RATE_LIMITED', 'RATE_LIMITED']);
    expect(left(answer)).toEqual({ requests: 0 });
  });

  describe('a search', () => {
    const search = (args: string, tenant?: string) => query(`{ search${args} { name } }`, tenant);

    test('finds, page by page', async () => {
      expect((await search('(text: "t")')).data).toEqual({
        search: [{ name: 'Kettle' }, { name: 'Teapot' }],
      });
      expect((await search('(text: "t", pages: 2)')).data!['search']).toHaveLength(3);
    });

    test('costs as many as it has pages, and one request', async () => {
      expect(left(await search(''))).toEqual({ requests: 9, search: 19 });
      expect(left(await search('(pages: 5)'))).toEqual({ requests: 8, search: 14 });
      const variable = {
        query: 'query ($pages: Int!) { search(pages: $pages) { id } }',
        variables: { pages: 10 },
      };
      const pages = await app.fetch('/graphql', json('POST', variable, { 'x-api-key': 'acme-demo-key' }));
      expect(left(pages)).toEqual({ requests: 7, search: 4 });
    });

    test('that is refused takes nothing, and a smaller one passes', async () => {
      await search('(pages: 9)');
      await search('(pages: 9)');
      const refused = await search('(pages: 3)');
      expect(refused.status).toBe(429);
      expect(refused.errors[0]!.extensions).toMatchObject({ 'violated-policies': ['search'] });
      expect(left(await search('(pages: 2)'))).toEqual({ requests: 7, search: 0 });
    });

    test.each([0, 11, -1])('for %d pages is a bad request', async (pages) => {
      const { data, errors } = await search(`(pages: ${pages})`);
      expect(data).toEqual({ search: null });
      expect(errors).toMatchObject([
        { message: 'pages is a whole number from 1 to 10.', extensions: { code: 'BAD_REQUEST' } },
      ]);
    });
  });

  test('is for those with an API key, and counts the others by address', async () => {
    for (let count = 0; count < 10; count += 1) {
      const { data, errors } = await query('{ products { id } }', `guess-${count}`);
      expect(data).toEqual({ products: null });
      expect(errors).toMatchObject([
        {
          message: 'Send your API key in the field "x-api-key".',
          extensions: { code: 'UNAUTHENTICATED' },
        },
      ]);
    }
    expect(codes(await query('{ products { id } }', 'guess'))).toEqual(['RATE_LIMITED']);
    expect((await query('{ products { id } }')).errors).toEqual([]);
  });

  test('takes five wrong passwords a minute, in one request or in several', async () => {
    const logIn = (password: string) => `login(username: "ada", password: "${password}")`;
    expect((await ask(app, `mutation { ${logIn('analytical engine')} }`)).data).toEqual({ login: 'ada' });
    expect((await app.fetch('/login', json('POST', { username: 'ada', password: 'x' }))).status).toBe(401);
    const guesses = ['a', 'b', 'c', 'd', 'analytical engine'].map((guess, at) => `g${at}: ${logIn(guess)}`);
    const answer = await ask(app, `mutation { ${guesses.join(' ')} }`);
    expect(answer.status).toBe(429);
    expect(answer.data).toEqual({ g0: null, g1: null, g2: null, g3: null, g4: null });
    // The one that succeeded took nothing in the end.
    expect(codes(answer).slice(0, 4)).toEqual(Array(4).fill('UNAUTHENTICATED'));
    expect(codes(answer).slice(4)).toEqual(['RATE_LIMITED']);
    expect(answer.headers.get('retry-after')).toBe('60');
    expect(answer.errors[4]).toMatchObject(refusedBy('login', 60));
    now += 60_000;
    expect((await ask(app, `mutation { ${logIn('analytical engine')} }`)).data).toEqual({ login: 'ada' });
  });

  test('shows no page that loads anything from elsewhere', async () => {
    const response = await app.fetch('/graphql', { headers: { accept: 'text/html' } });
    expect(await response.text()).not.toMatch(/<script|<link|https?:/);
  });
});
