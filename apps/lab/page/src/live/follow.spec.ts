import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { LiveSnapshot } from '../../../../api/src/live-view/live-snapshot.js';
import { type Connection, follow, type FollowOptions } from './follow.js';
import { type Moment, remember, SECONDS } from './history.js';

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Answers the first request as the first of these says, and so on; the last one goes for all that follow. */
async function serve(...answers: RequestListener[]): Promise<{ url: string; tokens: string[] }> {
  const tokens: string[] = [];
  server = createServer((request, response) => {
    tokens.push(request.headers.authorization ?? '');
    (answers.length > 1 ? answers.shift()! : answers[0]!)(request, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, tokens };
}

const status =
  (code: number, headers: Record<string, string> = {}): RequestListener =>
  (_, response) =>
    response.writeHead(code, headers).end('no stream');

/** Sends so many snapshots, and ends. */
const stream =
  (...ats: number[]): RequestListener =>
  (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const at of ats) response.write(`event: snapshot\ndata: ${JSON.stringify({ at })}\n\n`);
    response.end('event: other\ndata: {}\n\n');
  };

/** Follows until it ends by itself, or has waited so many times. */
async function followed(url: string, pauses: number, random = () => 0) {
  const abort = new AbortController();
  const seen: number[] = [];
  const waits: number[] = [];
  const connections: Connection[] = [];
  const options: FollowOptions = {
    url,
    token: 'let me in',
    signal: abort.signal,
    onSnapshot: ({ at }) => seen.push(at),
    onConnection: (connection) => connections.push(connection),
    random,
    wait: (ms) => {
      waits.push(ms);
      if (waits.length === pauses) abort.abort();
      return Promise.resolve();
    },
  };
  await follow(options);
  return { seen, waits, states: connections.map((each) => each.state), last: connections.at(-1) };
}

describe('following a sample', () => {
  test('reads its snapshots, and comes again when they end', async () => {
    const { url, tokens } = await serve(stream(1, 2), stream(3));
    const { seen, states, waits } = await followed(url, 2);
    expect(seen).toEqual([1, 2, 3]);
    expect(states).toEqual(['connecting', 'live', 'lost', 'connecting', 'live', 'lost']);
    expect(waits).toEqual([1_000, 1_000]);
    expect(tokens).toEqual(['Bearer let me in', 'Bearer let me in']);
  });

  test.each([
    [401, 'token'],
    [403, 'closed'],
    [404, 'absent'],
    [200, 'absent'],
  ])('ends after %i: trying again would not help', async (code, why) => {
    const { url, tokens } = await serve(status(code, { 'content-type': 'text/html' }));
    const { last, waits } = await followed(url, 1);
    expect(last).toEqual({ state: 'refused', why });
    expect(waits).toEqual([]);
    expect(tokens).toHaveLength(1);
  });

  test('waits longer each time that nobody is there, but never longer than half a minute', async () => {
    const { url } = await serve(status(502));
    expect((await followed(url, 7)).waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect((await followed(url, 3, () => 0.5)).waits).toEqual([750, 1_500, 3_000]);
    server!.close();
    server!.closeAllConnections();
    expect(await followed(url, 1)).toMatchObject({ last: { state: 'lost', why: 'gone' }, waits: [1_000] });
  });

  test('waits as long as Retry-After says', async () => {
    const { url } = await serve(status(429, { 'retry-after': '40' }));
    expect(await followed(url, 1)).toMatchObject({
      last: { state: 'lost', why: 'limited' },
      waits: [40_000],
    });
  });

  test('ends at once when it is told to, also while it waits', async () => {
    const { url } = await serve(status(502));
    const abort = new AbortController();
    const lost = new Promise<void>((resolve) => {
      void follow({
        url,
        token: '',
        signal: abort.signal,
        onSnapshot: () => undefined,
        onConnection: ({ state }) => {
          // In the next turn it waits.
          if (state === 'lost') setImmediate(() => abort.abort());
        },
      }).then(resolve);
    });
    await lost;
  });
});

test('two minutes are remembered, and what was refused for whatever reason', () => {
  const none = {
    allowed: 0,
    denied: 0,
    shed: 0,
    unavailable: 0,
    forbidden: 0,
    unidentified: 0,
    unlimited: 0,
    'shadow-denied': 0,
  };
  const counts = { ...none, allowed: 5, denied: 1, shed: 2, forbidden: 3, 'shadow-denied': 9 };
  let history: readonly Moment[] = [];
  for (let at = 0; at < 200; at += 1) {
    const policies = [
      { policy: 'api', lastSecond: counts, lastMinute: none, top: [] },
      { policy: 'free', lastSecond: { ...none, unlimited: 1 }, lastMinute: none, top: [] },
    ];
    history = remember(history, { at: at * 1_000, policies } as unknown as LiveSnapshot);
  }
  expect(history).toHaveLength(SECONDS);
  expect(history.at(-1)).toEqual({ at: 199_000, allowed: 6, refused: 6, refusedBy: { api: 6, free: 0 } });
});
