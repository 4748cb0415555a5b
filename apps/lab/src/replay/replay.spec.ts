import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { createRateLimiter } from 'nestjs-valkey-rate-limit';
import { openMemory } from '../place.js';
import { silentProgress } from '../progress.js';
import { replayHtml } from './html.js';
import { parseKey } from './key-option.js';
import { parsePolicies } from './policy-option.js';
import { replay, type Replay } from './replay.js';
import { replayTable } from './replay-table.js';
import { openSources } from './source.js';

const BASE = Date.UTC(2026, 2, 1, 12, 0, 0);
type Traffic = readonly (readonly [second: number, client: string])[];

function lines(traffic: Traffic): string {
  return traffic
    .map(([second, client]) => {
      const time = new Date(BASE + second * 1_000).toISOString();
      const stamp = `01/Mar/2026:${time.slice(11, 19)} +0000`;
      return `${client} - - [${stamp}] "GET / HTTP/1.1" 200 5 "-" "curl/8"\n`;
    })
    .join('');
}

async function replayed(
  log: string | Buffer,
  policies: readonly string[] = ['api=fixed-window:3/1m'],
  { key = 'ip', mostClients = 1_000 } = {},
): Promise<Replay> {
  const sources = await openSources(['-'], Readable.from([Buffer.from(log)], { objectMode: false }));
  const options = { key: parseKey(key), fields: {}, policies: parsePolicies(policies), mostClients };
  return replay(openMemory(), silentProgress, sources, options);
}

describe('replay', () => {
  it('counts what can be counted by hand', async () => {
    // Five in the first minute and four in the next of one client, two of another.
    const traffic: Traffic = [
      ...[0, 1, 2, 3].map((second) => [second, 'a'] as const),
      [4, 'b'],
      [59, 'a'],
      ...[60, 61, 62, 90].map((second) => [second, 'a'] as const),
      [91, 'b'],
    ];
    const result = await replayed(lines(traffic), ['api=fixed-window:3/1m', 'wide=fixed-window:10/1m']);
    expect(result).toMatchObject({ requests: 11, clients: 2, otherRequests: 0, logs: ['-'] });
    expect(result.policies[0]).toMatchObject({
      requestsRefused: 3,
      clientsRefused: 1,
      clientsRefusedShare: 0.5,
      refusedMost: [{ client: 'a', refused: 3, requests: 9 }],
      firstRefusal: BASE + 3_000,
      lastRefusal: BASE + 90_000,
      worstMinute: { at: BASE, refused: 2 },
      closeness: { p50: 1 / 3, p95: 1, p99: 1, most: 1 },
    });
    expect(result.policies[1]).toMatchObject({
      requestsRefused: 0,
      clientsRefused: 0,
      refusedMost: [],
      firstRefusal: undefined,
      worstMinute: undefined,
      closeness: { p50: 0.1, most: 0.5 },
    });
    expect(result.bars.reduce((sum, { refused }) => sum + refused[0]!, 0)).toBe(3);
  });

  it('says what the library says, request by request', async () => {
    const policies = {
      bucket: { algorithm: 'token-bucket', limit: 3, window: '10s', burst: 4 },
      log: { algorithm: 'sliding-log', limit: 3, window: '10s' },
      counter: { algorithm: 'sliding-counter', limit: 3, window: '10s' },
      queue: { algorithm: 'leaky-bucket', limit: 3, window: '10s' },
      hour: { algorithm: 'quota', limit: 7, period: 'hour' },
    } as const;
    const written = [
      'bucket=token-bucket:3/10s:burst=4',
      'log=sliding-log:3/10s',
      'counter=sliding-counter:3/10s',
      'queue=leaky-bucket:3/10s',
      'hour=quota:7/hour',
    ];
    const second = fc.integer({ min: 0, max: 120 });
    const traffic = fc.array(fc.tuple(second, fc.constantFrom('a', 'b')), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(traffic, async (unsorted) => {
        const sorted = unsorted.toSorted(([one], [other]) => one - other);
        const { policies: outcomes } = await replayed(lines(sorted), written);
        let now = 0;
        const limiter = await createRateLimiter({
          policies,
          clock: () => now,
          telemetry: { refusals: 'off' },
        });
        for (const { name, requestsRefused } of outcomes) {
          let refused = 0;
          for (const [at, client] of sorted) {
            now = BASE + at * 1_000;
            const { outcome } = await limiter.consume(name as never, { key: client });
            if (outcome === 'denied') refused += 1;
          }
          expect([name, requestsRefused]).toEqual([name, refused]);
        }
        await limiter.close();
      }),
      { numRuns: 30 },
    );
  });

  it('goes on after broken lines and shows the first', async () => {
    const log = `oops\n\n${lines([[0, 'a']])}{"half":\n${lines([[1, 'a']])}`;
    const result = await replayed(log);
    expect(result.reading).toMatchObject({ lines: 4, broken: 2, formats: ['common'] });
    expect(result.reading.firstBroken).toEqual([
      { log: '-', line: 1, text: 'oops' },
      { log: '-', line: 4, text: '{"half":' },
    ]);
    expect(result.requests).toBe(2);
    expect(replayTable(result)).toContain('2 of 4 lines could not be read. The first: -:1 "oops"');
  });

  it('never turns the clock back, and says how often it would have', async () => {
    const traffic: Traffic = [5, 3, 6, 4, 6, 70].map((second) => [second, 'a'] as const);
    const { reading, policies } = await replayed(lines(traffic));
    expect(reading).toMatchObject({ late: 2, latestMs: 2_000, from: BASE + 5_000, to: BASE + 70_000 });
    expect(policies[0]!.requestsRefused).toBe(2);
  });

  it('keeps no more clients apart than it may, and all requests', async () => {
    const traffic: Traffic = Array.from({ length: 40 }, (_, index) => [0, `client-${index % 10}`] as const);
    const result = await replayed(lines(traffic), undefined, { mostClients: 4 });
    expect(result).toMatchObject({ requests: 40, clients: 4, otherRequests: 24 });
    expect(result.policies[0]).toMatchObject({ requestsRefused: 10, clientsRefused: 4 });
    expect(replayTable(result)).toContain(
      'Only the first 4 clients are kept apart. --clients raises that. 24 ',
    );
  });

  it('leaves out who is nobody', async () => {
    const log = `${lines([[0, 'a']])}b - frank [01/Mar/2026:12:00:01 +0000] "GET / HTTP/1.1" 200 5\n`;
    const { requests, reading } = await replayed(log, undefined, { key: 'user' });
    expect({ requests, withoutKey: reading.withoutKey }).toEqual({ requests: 1, withoutKey: 1 });
  });

  it('unpacks by what the log is', async () => {
    const log = lines([0, 1, 2, 3].map((second) => [second, 'a'] as const));
    const [plain, packed] = [await replayed(log), await replayed(gzipSync(log))];
    expect(packed).toEqual(plain);
    const half = gzipSync(log).subarray(0, 40);
    await expect(replayed(half)).rejects.toThrow('- is packed by gzip and cannot be unpacked to its end');
  });

  it.each([
    ['nothing', '', 'There is nothing to replay'],
    ['no log', 'one\ntwo\n', 'None of 2 lines is one of a common, combined or JSON log. The first is "one"'],
  ])('says that it is %s', async (_, log, message) => {
    await expect(replayed(log)).rejects.toThrow(message);
  });
});

describe('the report', () => {
  const traffic: Traffic = Array.from(
    { length: 300 },
    (_, index) => [index, `192.0.2.${index % 7}`] as const,
  );

  it('is one page that loads nothing', async () => {
    const html = replayHtml(
      await replayed(lines(traffic), ['api=fixed-window:3/1m', 'queue=leaky-bucket:5/1m']),
    );
    expect(html).not.toMatch(/https?:|src=|href|url\(|@import|<script|<link/i);
    expect(html).toContain("default-src 'none'");
    expect(html.match(/<svg /g)!.length).toBe(10);
    expect(html).toContain('192.0.2.0');
  });

  it('shows what clients are called, and nothing more', async () => {
    const name = '<img/src=x>&"\u001B[2J|';
    const log = [0, 1].map((second) => `${JSON.stringify({ time: BASE + second, ip: name })}\n`).join('');
    const result = await replayed(log, ['one=fixed-window:1/1m']);
    expect(replayHtml(result)).toContain('&lt;img/src=x&gt;&amp;&quot;\\x1b[2J|');
    expect(replayTable(result)).toContain('<img/src=x>&"\\x1b[2J¦ (1 of 2)');
  });
});
