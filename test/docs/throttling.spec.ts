import { readFile } from 'node:fs/promises';
import { get } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { RateLimiter } from 'nestjs-valkey-rate-limit';
import { until } from '../../tools/until.js';
import { adapters, type RunningApp, startApp } from '../support/app.js';
import { members } from '../support/fields.js';
import { little } from '../support/little.js';
import { startProvider } from '../throttle/provider.js';
import { adaptive } from './throttling/adaptive.js';
import { Delays } from './throttling/delays.js';
import { MapsController } from './throttling/maps.controller.js';
import { policies } from './throttling/policies.js';
import { Reminders } from './throttling/reminders.js';
import { shed } from './throttling/shed.js';
import { ShopController } from './throttling/shop.controller.js';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFile(new URL(path, root), 'utf8');

test('the examples are the files that are run here', async () => {
  const page = await read('docs/throttling.md');
  const examples = [...page.matchAll(/^<!-- (\S+\.ts).*-->\n\n```ts\n([^]*?)^```$/gm)];
  expect(examples).toHaveLength([...page.matchAll(/^```ts$/gm)].length);
  for (const [, path, text] of examples) expect(text).toBe(await read(path!));
});

describe.each(adapters)('the examples on %s', (adapter) => {
  let app: RunningApp;
  /** What was logged of delays. */
  let said: string[];

  beforeEach(async () => {
    said = [];
    const nothing = () => undefined;
    const log = (text: string, from: string) => void (from === 'Delays' && said.push(text));
    const limits = { policies, clock: () => 1_000_000_000_000 };
    app = await startApp(
      little({ limits, controllers: [MapsController], providers: [Delays, Reminders] }),
      adapter,
      { module: (builder) => builder.setLogger({ log, warn: nothing, error: nothing }) },
    );
  });
  afterEach(() => {
    delete process.env['SMS_PROVIDER_URL'];
  });

  const together = (path: string, count: number) =>
    Promise.all(Array.from({ length: count }, () => app.fetch(path)));
  const waitsOf = (answers: readonly Response[]) =>
    answers
      .map((answer) =>
        Number(/^ratelimit;dur=(\d+)$/.exec(answer.headers.get('server-timing') ?? '')?.[1] ?? 0),
      )
      .toSorted((one, other) => one - other);

  test('maps wait for their turn, and what would wait too long is refused', async () => {
    const answers = await together('/maps/berlin', 6);
    const [passed, refused] = [200, 429].map((status) => answers.filter((each) => each.status === status));
    expect(await passed![0]!.text()).toBe('a map of berlin');
    expect(waitsOf(passed!).map((wait, index) => wait >= index * 200 - 1)).toEqual(Array(5).fill(true));
    expect(refused!.map(({ headers }) => headers.get('retry-after'))).toEqual(['1']);
    expect(said).toEqual([200, 400, 600, 800].map((delay) => `maps waits for ${delay} ms`));
  });

  test('whoever hangs up leaves the line and gives its place back', async () => {
    const clients = Array.from({ length: 5 }, () => {
      return get(`${app.url}/maps/berlin`, { agent: false }).on('error', () => undefined);
    });
    await until('the line is full', () => said.length === 4);
    expect((await app.fetch('/maps/berlin')).status).toBe(429);
    for (const client of clients) client.destroy();
    // The clock stands, so that nothing else makes room.
    await until('there is room', async () => (await app.fetch('/maps/berlin')).status === 200);
  });

  test('whoever waits when the application shuts down is told so', async () => {
    await app.fetch('/maps/berlin');
    const waiting = together('/maps/berlin', 3);
    await until('they wait', () => said.length === 3);
    await app.close();
    for (const answer of await waiting) {
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
      expect(await answer.json()).toMatchObject({
        type: expect.stringMatching(/#temporary-reduced-capacity$/),
      });
    }
  });

  test('two reports are made at a time', async () => {
    const answers = await together('/reports/2026', 3);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 429]);
    const refused = answers.find(({ status }) => status === 429)!;
    expect(members(refused, 'RateLimit')).toEqual([{ name: 'reports', r: 0 }]);
    expect(refused.headers.get('retry-after')).toBe('10');
    await until('both are given back', async () => (await app.fetch('/reports/2026')).status === 200);
  });

  test('reminders are sent in turn, and come again later where the line is too long', async () => {
    const provider = await startProvider();
    process.env['SMS_PROVIDER_URL'] = provider.url;
    const reminders = app.app.get(Reminders);
    const { signal } = new AbortController();
    const phones = ['+49301234567', '+49301234568', '+49301234569'];
    expect(await Promise.all(phones.map((phone) => reminders.send(phone, signal)))).toEqual(
      Array(3).fill(undefined),
    );
    expect(provider.arrivals.map(({ phone }) => phone)).toEqual(phones);
    expect(provider.arrivals[2]!.at - provider.arrivals[0]!.at).toBeGreaterThan(150);

    await app.app.get(RateLimiter).consume('sms-provider', { key: 'all', cost: 17 });
    expect(await reminders.send(phones[0]!, signal)).toBe(2_400);
    await expect(reminders.send(phones[0]!, AbortSignal.abort(new Error('Gone.')))).rejects.toThrow('Gone.');
    expect(await app.app.get(RateLimiter).peek('sms-provider', { key: 'all' })).toMatchObject({
      remaining: 30,
    });
    expect(provider.arrivals).toHaveLength(3);
  });
});

describe.each(adapters)('the shop on %s', (adapter) => {
  test('is shed by what its handlers and its clients say, and a limit that is measured begins at its floor', async () => {
    const limits = { policies: adaptive, shed: { ...shed, fleet: { limit: 1, reserve: 0 } } };
    const { app, fetch } = await startApp(little({ limits, controllers: [ShopController] }), adapter);
    const paths = ['orders', 'products', 'recommendations', 'health'].map((path) => `/${path}`);
    const statuses: number[] = [];
    for (const path of paths) {
      const init = path === '/orders' ? { method: 'POST' } : { headers: { 'x-batch': 'yes' } };
      // One at a time fits into the fleet of one.
      await until('the place is free', async () => {
        const { status } = await fetch(path, init);
        if (status !== 503) statuses.push(status);
        return status !== 503;
      });
    }
    expect(statuses).toEqual([201, 200, 200, 200]);
    const search = await app.get(RateLimiter).peek('search', { key: 'global' });
    expect(search).toMatchObject({ outcome: 'allowed', limit: 5, remaining: 5 });
  });
});
