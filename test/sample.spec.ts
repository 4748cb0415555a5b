import { beforeEach, describe, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningApp } from './support/app.js';
import { limitFields, members } from './support/fields.js';
import { statuses } from './support/little.js';
import { sampleCases, samples } from './support/sample.js';

const sample = samples();

describe.each(sampleCases)('the sample on %s, counting in %s', (adapter, store) => {
  let app: RunningApp;

  beforeEach(async () => {
    app = await sample.start(adapter, store);
    await app.fetch('/health'); // what is slow the first time is over before anything is counted
  });

  test('counts where it was told to', async () => {
    await app.fetch('/products');
    expect(await sample.client.dbsize()).toBe(store === 'valkey' ? 2 : 0);
  });

  test('lets five of seven requests for products pass', async () => {
    expect(await statuses(app, '/products', 7)).toEqual([200, 200, 200, 200, 200, 429, 429]);
  });

  test('counts all routes of products together', async () => {
    expect(await statuses(app, '/products', 3)).toEqual([200, 200, 200]);
    expect(await statuses(app, '/products/cup', 2)).toEqual([200, 200]);
    expect(await statuses(app, '/products/nothing', 1)).toEqual([429]);
  });

  test('lets exactly five of many requests at once pass', async () => {
    const responses = await Promise.all(Array.from({ length: 30 }, () => app.fetch('/products')));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(25);
  });

  test("tells the limit also where the handler's answer is an error", async () => {
    const response = await app.fetch('/products/nothing');
    expect(response.status).toBe(404);
    expect(members(response, 'RateLimit')).toEqual([{ name: 'api', r: 4, t: 2 }]);
    expect(response.headers.get('content-type')).toMatch(/^application\/json(;|$)/);
  });

  test('tells an allowed client its limit and what is left', async () => {
    const responses = [await app.fetch('/products'), await app.fetch('/products')];
    for (const [index, response] of responses.entries()) {
      expect(members(response, 'RateLimit-Policy')).toEqual([{ name: 'api', q: 5, w: 10 }]);
      expect(members(response, 'RateLimit')).toEqual([{ name: 'api', r: 4 - index, t: 2 }]);
      expect(limitFields(response)).toEqual(['ratelimit', 'ratelimit-policy']);
      expect(response.headers.get('cache-control')).toBeNull();
    }
    expect(await responses[0]!.json()).toHaveLength(4);
  });

  test('answers the sixth request with a problem and when to come back', async () => {
    await statuses(app, '/products', 5);
    const response = await app.fetch('/products');

    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('2');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json(;|$)/);
    expect(members(response, 'RateLimit-Policy')).toEqual([{ name: 'api', q: 5, w: 10 }]);
    expect(members(response, 'RateLimit')).toEqual([{ name: 'api', r: 0, t: 2 }]);
    expect(await response.json()).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail: 'The limit "api" is exceeded. Try again in 2 seconds.',
      'violated-policies': ['api'],
    });
  });

  test('lets one more pass after the time that it told', async () => {
    await statuses(app, '/products', 6);
    await sleep(2_000); // real time is the subject
    expect(await statuses(app, '/products', 2)).toEqual([200, 429]);
  });

  test('never limits the health check, which has no fields', async () => {
    const responses = await Promise.all(Array.from({ length: 100 }, () => app.fetch('/health')));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    expect(responses.flatMap(limitFields)).toEqual([]);
  });

  describe('a log-in', () => {
    const logIn = (body: unknown) =>
      app.fetch('/login', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const logInTimes = async (times: number, body: unknown) => {
      const seen: number[] = [];
      for (let count = 0; count < times; count += 1) seen.push((await logIn(body)).status);
      return seen;
    };

    test('with the right password succeeds, with another is refused', async () => {
      expect((await logIn({ username: 'ada', password: 'analytical engine' })).status).toBe(200);
      expect((await logIn({ username: 'ada', password: 'nanoseconds' })).status).toBe(401);
      expect((await logIn({ username: 'nobody', password: 'nanoseconds' })).status).toBe(401);
    });

    const right = { username: 'ada', password: 'analytical engine' };

    test('may fail five times a minute, and succeed as often as it likes', async () => {
      expect(await logInTimes(4, { username: 'ada', password: 'x' })).toEqual([401, 401, 401, 401]);
      expect(await logInTimes(3, right)).toEqual([200, 200, 200]);
      expect(await logInTimes(1, { username: 'ada', password: 'x' })).toEqual([401]);
      expect(await logInTimes(1, right)).toEqual([429]);
      const response = await logIn(right);
      expect(members(response, 'RateLimit-Policy')).toEqual([{ name: 'login', q: 5, w: 60 }]);
      const wait = Number(response.headers.get('retry-after'));
      expect(members(response, 'RateLimit')).toEqual([{ name: 'login', r: 0, t: wait }]);
      expect(wait).toBeGreaterThan(50); // until the first of the five is a minute old
      expect(wait).toBeLessThanOrEqual(60);
      expect(await response.json()).toMatchObject({ 'violated-policies': ['login'] });
    });

    test('that goes on being tried is blocked, also with the right password', async () => {
      await logInTimes(7, { username: 'ada', password: 'x' });
      for (const body of [{ username: 'ada', password: 'x' }, right]) {
        const response = await logIn(body);
        expect([response.status, response.headers.get('retry-after')]).toEqual([429, '900']);
        expect(await response.json()).toMatchObject({
          type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
        });
      }
    });

    test('of another user name is counted apart', async () => {
      expect(await logInTimes(6, { username: 'ada', password: 'x' })).toContain(429);
      expect((await logIn({ username: 'grace', password: 'nanoseconds' })).status).toBe(200);
    });

    test.each([
      ['an object', { username: { a: 1 }, password: 'x' }],
      ['a list', { username: ['ada'], password: 'x' }],
      ['a number', { username: 7, password: 'x' }],
      ['null', { username: null, password: 'x' }],
      ['nothing', {}],
      ['a body that is a list', [1, 2]],
    ])('whose user name is %s is a bad request, and limited all the same', async (_, body) => {
      expect(await logInTimes(6, body)).toEqual([400, 400, 400, 400, 400, 429]);
    });

    test('whose user name is no text shares one bucket with all of its kind', async () => {
      await logInTimes(5, { username: { a: 1 }, password: 'x' });
      expect((await logIn({ username: ['ada'], password: 'x' })).status).toBe(429);
      expect((await logIn({})).status).toBe(429);
    });

    test('without a body at all is a bad request', async () => {
      expect((await app.fetch('/login', { method: 'POST' })).status).toBe(400);
    });

    test('with a very long user name is limited like any other', async () => {
      const body = { username: `${'é{}:\n😀'.repeat(1_500)}`, password: 'x' };
      expect(await logInTimes(6, body)).toEqual([401, 401, 401, 401, 401, 429]);
      const keys = await sample.client.keys('*');
      expect(Math.max(0, ...keys.map(({ length }) => length))).toBeLessThan(100);
    });
  });
});
