import { EventSourceParserStream } from 'eventsource-parser/stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { LiveSnapshot } from '../../apps/api/src/live-view/live-snapshot.js';
import { Refusals } from '../../apps/api/src/live-view/refusals.js';
import type { LocalValkey } from '../../tools/local-valkey.js';
import type { RunningApp } from '../support/app.js';
import { json, startSample } from '../support/sample.js';
import { statuses } from '../support/little.js';
import { ownValkey } from '../support/valkey.js';

const adminToken = 'let me in';
const headers = { authorization: `Bearer ${adminToken}` };
const hangingUp: AbortController[] = [];

/** Looks at the live view, until it is told to stop or the test is over. */
async function look(app: RunningApp): Promise<{
  readonly response: Response;
  next(wanted?: (snapshot: LiveSnapshot) => boolean): Promise<LiveSnapshot>;
  ended(): Promise<boolean>;
  hangUp(): void;
}> {
  const abort = new AbortController();
  hangingUp.push(abort);
  const response = await app.fetch('/admin/live', { headers, signal: abort.signal });
  const events = response
    .body!.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  return {
    response,
    next: async (wanted = () => true) => {
      for (;;) {
        const { value, done } = await events.read();
        if (done) throw new Error('The stream ended.');
        expect(value.event).toBe('snapshot');
        const snapshot = JSON.parse(value.data) as LiveSnapshot;
        if (wanted(snapshot)) return snapshot;
      }
    },
    ended: async () => {
      for (;;) if ((await events.read()).done) return true;
    },
    hangUp: () => abort.abort(),
  };
}

const policyOf = ({ policies }: LiveSnapshot, name: string) =>
  policies.find(({ policy }) => policy === name)!;

afterEach(() => {
  for (const abort of hangingUp.splice(0)) abort.abort();
});

describe('the live view of the sample', () => {
  let app: RunningApp;

  beforeEach(async () => {
    app = await startSample('fastify', { adminToken });
  });

  test('is for the admin alone', async () => {
    for (const authorization of ['', 'Bearer guess']) {
      const response = await app.fetch('/admin/live', { headers: { authorization } });
      expect(response.status).toBe(401);
      expect(response.headers.get('content-type')).toContain('application/json');
    }
  });

  test('shows at once what there is, and within a second or two what has happened', async () => {
    const view = await look(app);
    expect(view.response.headers.get('content-type')).toContain('text/event-stream');
    expect(view.response.headers.get('cache-control')).toContain('no-store');
    const first = await view.next();
    expect(first).toMatchObject({
      instance: { pid: process.pid },
      store: { status: 'up', store: 'memory', circuit: 'closed' },
      routes: [],
    });
    expect(policyOf(first, 'api').description).toMatchObject({
      algorithm: 'token-bucket',
      limits: [{ limit: 5, windowMs: 10_000 }],
    });
    expect(policyOf(first, 'requests').description!.limits).toHaveLength(3);
    expect(policyOf(first, 'sms-provider')).not.toHaveProperty('description');

    await statuses(app, '/products', 7);
    const after = await view.next((each) => policyOf(each, 'api').lastMinute.denied >= 2);
    expect(policyOf(after, 'api').lastMinute).toMatchObject({ allowed: 5, denied: 2, shed: 0 });
    expect(policyOf(after, 'api-next').lastMinute).toMatchObject({ 'shadow-denied': 3 });
    const { top } = policyOf(await view.next((each) => policyOf(each, 'api').top.length > 0), 'api');
    expect(top).toMatchObject([{ key: '127.0.0.1', limit: 5, remaining: 0 }]);
  });

  test('shows which routes refuse, also before Nest', async () => {
    const view = await look(app);
    await view.next();
    await statuses(app, '/products', 7);
    const login = json('POST', { username: 'ada', password: 'guess' });
    for (let guess = 0; guess < 6; guess += 1) await app.fetch('/login', login);
    await app.fetch(`/nowhere/${'x'.repeat(100)}`);
    const { routes } = await view.next((each) => each.routes.length >= 2);
    expect(routes).toEqual([
      { route: 'GET /products', status: 429, lastMinute: 2 },
      { route: 'POST /login', status: 429, lastMinute: 1 },
    ]);
  });

  test('is one for all who look, and nothing when nobody does', async () => {
    const refusals = app.app.get(Refusals);
    const [one, other] = [await look(app), await look(app)];
    const [first, second] = [await one.next(), await other.next()];
    expect(second.since).toBe(first.since);
    expect(refusals.refused$.observed).toBe(true);
    one.hangUp();
    await other.next();
    expect(refusals.refused$.observed).toBe(true);
    other.hangUp();
    for (let waited = 0; refusals.refused$.observed && waited < 10_000; waited += 20) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(refusals.refused$.observed).toBe(false);
  });

  test('does not keep the application from closing', async () => {
    const short = await startSample('fastify', { adminToken });
    const view = await look(short);
    await view.next();
    const ended = view.ended();
    await short.close();
    expect(await ended).toBe(true);
  });
});

test('the live view goes on while the store does not, and says so', async () => {
  const valkey: LocalValkey = await ownValkey();
  const app = await startSample('fastify', { adminToken, valkey: valkey.url });
  const view = await look(app);
  expect((await view.next()).store).toEqual({ status: 'up', store: 'valkey', circuit: 'closed' });
  await valkey.stop();
  await statuses(app, '/products', 3);
  const without = await view.next(({ store }) => store.status === 'degraded');
  expect(without.store.store).toBe('valkey');
  const top = (await view.next((each) => policyOf(each, 'api').top === 'unavailable')).policies;
  expect(top.every((policy) => policy.top === 'unavailable')).toBe(true);
});
