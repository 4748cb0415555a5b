import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Controller, Get, InternalServerErrorException, StreamableFile } from '@nestjs/common';
import { type Decision, key, RateLimiter } from 'nestjs-valkey-rate-limit';
import { until } from '../../tools/until.js';
import { adapters, type RunningApp } from '../support/app.js';
import { members } from '../support/fields.js';
import { type LooseLimiter, Limit, type LooseOptions, startLittle } from '../support/little.js';
import { refusalOf } from '../support/refusal.js';

const TURN_MS = 100;
const queue = { algorithm: 'leaky-bucket', limit: 10, window: '1s', key: key.global() } as const;
const places = { algorithm: 'concurrency', limit: 2, lease: '20s', key: key.global() } as const;

/** When handlers began, in milliseconds. */
let begun: number[] = [];
const releases: (() => void)[] = [];

afterEach(() => {
  begun = [];
  for (const release of releases.splice(0)) release();
});

@Controller()
class Routes {
  @Get('queue')
  @Limit('queue')
  queue(): string {
    begun.push(performance.now());
    return 'done';
  }

  @Get('few')
  @Limit('few')
  few(): string {
    begun.push(performance.now());
    return 'done';
  }

  @Get('place')
  @Limit('places')
  async place(): Promise<string> {
    begun.push(performance.now());
    await new Promise<void>((resolve) => releases.push(resolve));
    return 'done';
  }

  @Get('stream')
  @Limit('places')
  stream(): StreamableFile {
    const chunks = new Readable({ read() {} });
    chunks.push('begun');
    releases.push(() => chunks.push(null));
    return new StreamableFile(chunks);
  }

  @Get('failing')
  @Limit('places')
  failing(): never {
    throw new InternalServerErrorException();
  }
}

const policies = {
  queue: { ...queue, burst: 5 },
  few: { ...queue, burst: 50, maxWaiting: 2 },
  places,
} as const;

let prefixes = 0;

describe.each(
  adapters.flatMap((adapter) => (['memory', 'valkey'] as const).map((store) => [adapter, store] as const)),
)('on %s, counted in %s,', (adapter, store) => {
  let app: RunningApp;
  const start = async (limits: LooseOptions = {}) => {
    app = await startLittle(
      adapter,
      {
        policies,
        deadline: '2s',
        prefix: `throttle-${process.pid}-${(prefixes += 1)}:`,
        ...(store === 'valkey' && { valkey: process.env['TEST_VALKEY_URL']! }),
        ...limits,
      },
      [Routes],
    );
  };
  const left = async (policy: string) => {
    const limiter = app.app.get(RateLimiter) as unknown as LooseLimiter;
    const decision = await limiter.peek(policy, { key: 'global' });
    return 'remaining' in decision ? decision.remaining : undefined;
  };
  /** A request whose client can hang up. */
  const open = async (path: string) => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    return socket;
  };

  describe('a request under a leaky bucket', () => {
    test('waits for its turn before its handler runs, and is told how long that was', async () => {
      await start();
      const answers = await Promise.all(Array.from({ length: 4 }, () => app.fetch('/queue')));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      const gaps = begun.slice(1).map((at, index) => at - begun[index]!);
      // As far apart as it says, but for what the answers of Valkey took.
      expect(begun.at(-1)! - begun[0]!).toBeGreaterThan(2.5 * TURN_MS);
      expect(gaps).toHaveLength(3);
      const waited = answers.map((answer) => answer.headers.get('server-timing')).toSorted();
      expect(waited).toEqual([
        null,
        ...Array.from({ length: 3 }, () => expect.stringMatching(/^ratelimit;dur=\d+$/)),
      ]);
    });

    test('is refused where the queue is full', async () => {
      await start();
      const answers = await Promise.all(Array.from({ length: 7 }, () => app.fetch('/queue')));
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 200, 200, 429, 429]);
      expect(begun).toHaveLength(5);
    });

    test('whose client hangs up leaves the line, and gives its place back where it is the last', async () => {
      await start({ policies: { ...policies, queue: { ...queue, limit: 1, burst: 3, window: '2s' } } });
      await app.fetch('/queue');
      const middle = await open('/queue');
      await until('one waits', async () => (await left('queue')) === 1);
      const last = await open('/queue');
      await until('two wait', async () => (await left('queue')) === 0);
      // Whoever is behind it has a turn already, which nobody else may get.
      middle.destroy();
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(await left('queue')).toBe(0);
      last.destroy();
      await until('its place is free', async () => (await left('queue'))! > 0, 1_000);
      expect(begun).toHaveLength(1);
    });

    test('is refused where too many wait in this process, takes nothing, and may come when one has gone', async () => {
      await start();
      const told: Decision[] = [];
      app.app.get(RateLimiter).decisions$.subscribe((decision) => void told.push(decision));
      const answers = await Promise.all(Array.from({ length: 6 }, () => app.fetch('/few')));
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 429, 429, 429]);
      const refused = answers.find(({ status }) => status === 429)!;
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(members(refused, 'RateLimit')).toMatchObject([{ name: 'few', r: 0, t: 1 }]);
      expect(await refused.json()).toMatchObject({ 'violated-policies': ['few'] });
      const denied = told.filter(({ outcome }) => outcome === 'denied');
      expect(denied).toHaveLength(3);
      for (const decision of denied) {
        expect((decision as { retryAfterMs: number }).retryAfterMs).toBeLessThanOrEqual(TURN_MS);
      }
      await until('only the three have taken something', async () => (await left('few'))! >= 47);
    });

    test('that still waits when the application shuts down is answered with 503', async () => {
      await start({ policies: { ...policies, queue: { ...queue, limit: 1, burst: 5 } } });
      const waiting = Array.from({ length: 3 }, () => app.fetch('/queue'));
      await until('they wait', async () => (await left('queue')) === 2);
      const began = performance.now();
      const closing = app.close();
      const answers = await Promise.all(waiting);
      await closing;
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 503, 503]);
      const sent = answers.find(({ status }) => status === 503)!;
      expect(sent.headers.get('retry-after')).toBe('1');
      expect(await sent.json()).toMatchObject({
        type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      });
      expect(performance.now() - began).toBeLessThan(900);
      expect(begun).toHaveLength(1);
    });
  });

  describe('a request under concurrency', () => {
    test('holds a place until it is answered, and is refused where there is none', async () => {
      await start();
      const held = [app.fetch('/place'), app.fetch('/place')];
      await until('both are held', () => begun.length === 2);
      const refused = await app.fetch('/place');
      expect(refused.status).toBe(429);
      expect(members(refused, 'RateLimit')).toEqual([{ name: 'places', r: 0 }]);
      releases.shift()!();
      expect((await Promise.race(held)).status).toBe(200);
      await until('one is free', async () => (await left('places')) === 1);
      const next = app.fetch('/place');
      await until('it is held again', () => begun.length === 3);
      for (const release of releases.splice(0)) release();
      expect((await next).status).toBe(200);
      await until('all are free', async () => (await left('places')) === 2);
    });

    test.each(['/failing', '/nothing'])('gives it back where it fails: %s', async (path) => {
      await start();
      await Promise.all(Array.from({ length: 2 }, () => app.fetch(path)));
      await until('all are free', async () => (await left('places')) === 2);
    });

    test.each(['/place', '/stream'])('gives it back when its client hangs up: %s', async (path) => {
      await start();
      const sockets = [await open(path), await open(path)];
      await until('both are held', async () => (await left('places')) === 0);
      expect((await app.fetch('/place')).status).toBe(429);
      for (const socket of sockets) socket.destroy();
      await until('both are free', async () => (await left('places')) === 2);
    });

    test('holds it as long as a stream goes on', async () => {
      await start();
      const response = await app.fetch('/stream');
      expect(await left('places')).toBe(1);
      releases.shift()!();
      expect(await response.text()).toBe('begun');
      await until('it is free', async () => (await left('places')) === 2);
    });

    test('renews its lease while it works', async () => {
      await start({ deadline: 250, policies: { ...policies, places: { ...places, limit: 1, lease: '1s' } } });
      const held = app.fetch('/place');
      await until('it is held', () => begun.length === 1);
      const began = performance.now();
      while (performance.now() - began < 1_600) expect((await app.fetch('/place')).status).toBe(429);
      releases.shift()!();
      expect((await held).status).toBe(200);
      await until('it is free', async () => (await left('places')) === 1);
    });
  });
});

describe('what could not be throttled is refused at boot', () => {
  @Controller()
  class Route {
    @Get()
    @Limit('one')
    route(): string {
      return '';
    }
  }

  test.each([
    [
      { ...queue, limit: 1, window: '1h', burst: 5 },
      'UNBOUNDED_QUEUE',
      /could wait for 14400000 ms, .* maxWait/,
    ],
    [
      { ...queue, maxWaiting: Infinity },
      'INVALID_MAX_WAITING',
      /maxWaiting must be a whole number from 1 to 100000/,
    ],
    [{ ...queue, maxWaiting: 0 }, 'INVALID_MAX_WAITING', /maxWaiting must be/],
    [{ ...places, lease: 500 }, 'SHORT_LEASE', /a lease of 500 ms, and it must be at least 1000 ms here/],
  ])('%j', async (one, code, message) => {
    const error = await refusalOf({ policies: { one } }, Route);
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)]);
  });
});
