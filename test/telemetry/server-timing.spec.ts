import { describe, expect, jest, test } from '@jest/globals';
import { Controller, Get, UseGuards } from '@nestjs/common';
import { key } from 'nestjs-valkey-rate-limit';
import { RequestLimiter } from '../../libs/rate-limit/src/nest/request-limiter.js';
import { adapters, type RunningApp, type StartOptions } from '../support/app.js';
import { LogIn } from '../support/authentication.js';
import { Limit, LONG, type LooseOptions, Skip, startLittle } from '../support/little.js';

@Controller()
class Routes {
  @Get('one')
  @Limit('one')
  one(): string {
    return '';
  }

  @Get('queue')
  @Limit('queue')
  queue(): string {
    return '';
  }

  @Get('free')
  @Skip()
  free(): string {
    return '';
  }

  @Get('stages')
  @UseGuards(LogIn)
  @Limit('one', 'user')
  stages(): string {
    return '';
  }
}

const one = { algorithm: 'fixed-window', limit: 1, window: LONG, key: key.header('x-client') } as const;
const policies = {
  one,
  user: { ...one, limit: 2, key: key.user() },
  queue: { algorithm: 'leaky-bucket', limit: 1, window: '1s', burst: 2, key: key.global() },
} as const;

const DECISION = /^ratelimit-decision;dur=(\d+\.\d\d)$/;
const as = (client: string, user = 'ada') => ({ headers: { 'x-client': client, 'x-user': user } });
const timing = (response: Response) => response.headers.get('server-timing');

describe.each(adapters)('Server-Timing on %s', (adapter) => {
  const start = (limits: LooseOptions = {}, options?: StartOptions) =>
    startLittle(
      adapter,
      { policies, telemetry: { serverTiming: true }, refuseIn: 'guard', ...limits },
      [Routes],
      options,
    );

  test.each(['memory', 'valkey'] as const)(
    'tells how long it took to allow and to refuse in %s',
    async (store) => {
      const valkey =
        store === 'valkey' ? { valkey: process.env['TEST_VALKEY_URL']!, deadline: '5s' as const } : {};
      const app = await start({ ...valkey, prefix: `timing-${process.pid}-${adapter}:` });
      // By the store, and by the guard that knows it.
      for (const status of [200, 429, 429]) {
        const begun = performance.now();
        const response = await app.fetch('/one', as('ada'));
        const tookMs = performance.now() - begun;
        expect(response.status).toBe(status);
        expect(timing(response)).toMatch(DECISION);
        expect(Number(DECISION.exec(timing(response)!)![1])).toBeLessThan(tookMs);
      }
      const [, slowest] = DECISION.exec(timing(await app.fetch('/one', as('bob')))!)!;
      if (store === 'valkey') expect(Number(slowest)).toBeGreaterThan(0.01);
    },
  );

  test('tells in one field how long it waited as well', async () => {
    const app = await start();
    const answers = await Promise.all([app.fetch('/queue'), app.fetch('/queue'), app.fetch('/queue')]);
    const told = answers.toSorted((a, b) => a.status - b.status || timing(a)!.length - timing(b)!.length);
    expect(told.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(timing(told[0]!)).toMatch(DECISION);
    expect(timing(told[1]!)).toMatch(/^ratelimit-decision;dur=\d+\.\d\d, ratelimit;dur=\d+$/);
    const waitedMs = Number(/ratelimit;dur=(\d+)/.exec(timing(told[1]!)!)![1]);
    expect(waitedMs).toBeGreaterThan(100);
    expect(timing(told[2]!)).toMatch(DECISION);
  });

  test('is not there unless it is asked for, and where nothing was decided', async () => {
    const silent = await start({ telemetry: { metrics: false } });
    for (const status of [200, 429, 429]) {
      const response = await silent.fetch('/one', as('ada'));
      expect([response.status, timing(response)]).toEqual([status, null]);
    }
    const app = await start();
    expect(timing(await app.fetch('/free', as('ada')))).toBeNull();
    expect(timing(await app.fetch('/nothing', as('ada')))).toBeNull();
  });

  test('is there whatever other header fields are', async () => {
    const app = await start({ headers: 'none' });
    for (const status of [200, 429, 429]) {
      const response = await app.fetch('/one', as('ada'));
      expect([response.status, timing(response)]).toEqual([status, expect.stringMatching(DECISION)]);
      expect(response.headers.get('ratelimit')).toBeNull();
    }
  });

  test('has an entry for each of two stages', async () => {
    const app = await start({ authentication: 'guards' });
    // Allowed by both, refused in the second, and in the first.
    for (const [client, user, status] of [
      ['a', 'ada', 200],
      ['b', 'ada', 200],
      ['c', 'ada', 429],
      ['a', 'bob', 429],
    ] as const) {
      const response = await app.fetch('/stages', as(client, user));
      expect(response.status).toBe(status);
      const entries = timing(response)!.split(', ');
      // Who is refused in the first never comes to the second.
      expect(entries).toHaveLength(client === 'a' && status === 429 ? 1 : 2);
      for (const entry of entries) expect(entry).toMatch(DECISION);
    }
  });

  const refusedInHook = async (): Promise<[RunningApp, Response]> => {
    const app = await start({ refuseIn: 'hook' });
    const begin = jest.spyOn(app.app.get(RequestLimiter), 'begin');
    for (let count = 0; count < 3; count += 1) await app.fetch('/one', as('ada'));
    const before = begin.mock.calls.length;
    const response = await app.fetch('/one', as('ada'));
    expect([response.status, begin.mock.calls.length]).toEqual([429, before]);
    return [app, response];
  };

  test('tells nothing of what is refused before Nest, as nothing is decided', async () => {
    const [, response] = await refusedInHook();
    expect(timing(response)).toBeNull();
  });

  // As TelemetryOptions says: "in the field Server-Timing of every response".
  test('what a middleware told in the field stays', async () => {
    const app = await start(
      {},
      {
        app: (each) => {
          type Hooked = { addHook(name: string, hook: unknown): void };
          const hook = (
            _: unknown,
            response: Record<string, (name: string, value: string) => void>,
            next: () => void,
          ) => {
            (response['setHeader'] ?? response['header'])!.call(response, 'Server-Timing', 'session;dur=2');
            next();
          };
          if (adapter === 'express') each.use(hook);
          else (each.getHttpAdapter().getInstance() as unknown as Hooked).addHook('onRequest', hook);
        },
      },
    );
    const free = await app.fetch('/free', as('ada'));
    expect(timing(free)).toBe('session;dur=2');
    const told = timing(await app.fetch('/one', as('ada')));
    expect(told).toContain('session;dur=2');
    expect(told).toContain('ratelimit-decision;dur=');
  });
});
