import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { byPlan, createRateLimiter, type DecisionEvent, key, RateLimiter } from 'nestjs-valkey-rate-limit';
import { Engine } from '../../libs/rate-limit/src/limiter/engine.js';
import { RequestLimiter } from '../../libs/rate-limit/src/nest/request-limiter.js';
import { until } from '../../tools/until.js';
import { adapters, type RunningApp } from '../support/app.js';
import { Limit, LONG, type LooseOptions, startLittle, statuses } from '../support/little.js';
import { ownValkey } from '../support/valkey.js';

const releases: (() => void)[] = [];
afterEach(() => {
  for (const release of releases.splice(0)) release();
});

@Controller()
class Routes {
  @Get('one')
  @Limit('one')
  one(): string {
    return '';
  }

  @Get('both')
  @Limit('many', 'one')
  both(): string {
    return '';
  }

  @Get('planned')
  @Limit('planned')
  planned(): string {
    return '';
  }

  @Get('listed')
  @Limit('listed', 'many')
  listed(): string {
    return '';
  }

  @Get('shadow')
  @Limit('shadow')
  shadow(): string {
    return '';
  }

  @Get('tenant')
  @Limit('tenant', 'many')
  tenant(): string {
    return '';
  }

  @Get('user')
  @Limit('user')
  user(): string {
    return '';
  }

  @Get('hanging')
  async hanging(): Promise<string> {
    await new Promise<void>((resolve) => releases.push(resolve));
    return '';
  }
}

const client = key.header('x-client');
const one = { algorithm: 'fixed-window', limit: 1, window: LONG, key: client } as const;
const policies = {
  one,
  many: { ...one, limit: 100 },
  planned: byPlan(
    { free: { algorithm: 'fixed-window', limit: 1, window: LONG }, staff: 'unlimited' },
    { default: 'free', key: client },
  ),
  listed: { ...one, deny: ({ request }: { request: { headers: object } }) => 'x-banned' in request.headers },
  shadow: { ...one, mode: 'shadow' },
  tenant: { ...one, limit: 9, key: key.tenant() },
  user: { ...one, limit: 9, key: key.user() },
} as const;
const identify: LooseOptions['identify'] = {
  tenant: ({ request }) => request.headers['x-tenant'] as string | undefined,
  plan: ({ request }) => request.headers['x-plan'],
  user: ({ request }) => {
    if (request.headers['x-user'] === 'unknown') throw new Error('The session store is down.');
    return request.headers['x-user'] as string | undefined;
  },
};

const ada = { headers: { 'x-client': 'ada' } };
const as = (fields: Record<string, string>) => ({ headers: { 'x-client': 'ada', ...fields } });

function listen(app: RunningApp): DecisionEvent[] {
  const told: DecisionEvent[] = [];
  app.app.get(RateLimiter).decisions$.subscribe((event) => void told.push(event));
  return told;
}

describe.each(adapters)('decisions$ on %s', (adapter) => {
  const start = (options: LooseOptions = {}) =>
    startLittle(adapter, { policies: policies as never, identify, ...options }, [Routes]);

  test.each(['memory', 'valkey'] as const)(
    'tells what was decided in %s, and how long it took',
    async (store) => {
      const valkey =
        store === 'valkey' ? { valkey: process.env['TEST_VALKEY_URL']!, deadline: '5s' as const } : {};
      const app = await start({ ...valkey, prefix: `events-${process.pid}-${adapter}:`, denyCache: 'off' });
      await app.fetch('/one', as({ 'x-client': 'before' }));
      const told = listen(app);
      const begun = performance.now();
      expect(await statuses(app, '/one', 2, ada)).toEqual([200, 429]);
      const tookMs = performance.now() - begun;
      const common = { policy: 'one', store, remaining: 0, limit: 1, at: expect.any(Number) };
      expect(told).toEqual([
        { ...common, outcome: 'allowed', cost: 1, delayMs: 0, ...numbers },
        { ...common, outcome: 'denied', cost: 0, retryAfterMs: expect.any(Number), ...numbers },
      ]);
      const durations = told.map(({ durationMs }) => durationMs);
      expect(Math.min(...durations)).toBeGreaterThan(0);
      expect(durations[0]! + durations[1]!).toBeLessThan(tookMs);
    },
  );

  test('tells each of several that were decided together, which took the same', async () => {
    const app = await start();
    const told = listen(app);
    await statuses(app, '/both', 2, ada);
    expect(
      told.map(({ policy, outcome, ...event }) => [policy, outcome, 'remaining' in event && event.remaining]),
    ).toEqual([
      ['many', 'allowed', 99],
      ['one', 'allowed', 0],
      ['many', 'allowed', 99],
      ['one', 'denied', 0],
    ]);
    expect(told[0]!.durationMs).toBe(told[1]!.durationMs);
    // Of the third, which is known to be denied, only that is told.
    await statuses(app, '/both', 1, ada);
    expect(told.slice(4)).toMatchObject([{ policy: 'one', outcome: 'denied', cached: true }]);
  });

  test.each(['guard', 'hook'] as const)('tells what the %s knows without asking', async (refuseIn) => {
    const app = await start({ refuseIn });
    const told = listen(app);
    const begin = jest.spyOn(app.app.get(RequestLimiter), 'begin');
    expect(await statuses(app, '/one', 5, ada)).toEqual([200, 429, 429, 429, 429]);
    expect(told.map(({ outcome, cached }) => [outcome, cached])).toEqual([
      ['allowed', undefined],
      ['denied', undefined],
      ...Array.from({ length: 3 }, () => ['denied', true]),
    ]);
    // The hook learns from the guard where a request goes, once somebody is denied.
    expect(begin.mock.calls.length).toBe(refuseIn === 'guard' ? 5 : 3);
    for (const event of told.slice(2)) {
      expect(event).toMatchObject({ policy: 'one', store: 'memory', remaining: 0, limit: 1, cost: 0 });
      expect(event.durationMs).toBeLessThan(100);
      expect(event).not.toHaveProperty('key');
    }
  });

  test('tells who was counted only where that was asked for', async () => {
    const [silent, open] = [await start(), await start({ telemetry: { exposeKeys: true } })];
    const [untold, told] = [listen(silent), listen(open)];
    for (const app of [silent, open]) {
      // By the store, by the guard that knows it, and before Nest.
      await statuses(app, '/one', 4, ada);
      await app.fetch('/tenant', as({ 'x-tenant': 'acme' }));
    }
    expect(JSON.stringify(untold)).not.toContain('ada');
    expect(told.map((event) => event.key)).toEqual(['ada', 'ada', 'ada', 'ada', 'acme', 'ada']);
  });

  test('tells the tenant where that was asked for before', async () => {
    const app = await start();
    const told = listen(app);
    await app.fetch('/tenant', as({ 'x-tenant': 'acme' }));
    await app.fetch('/one', as({ 'x-tenant': 'acme' }));
    expect(told.map(({ policy, tenant }) => [policy, tenant])).toEqual([
      ['tenant', 'acme'],
      ['many', 'acme'],
      ['one', undefined],
    ]);
    expect(told[2]).not.toHaveProperty('tenant');
  });

  test('tells of those without a limit, forbidden, not identified, and in shadow', async () => {
    const app = await start({ onIdentityFailure: 'closed' });
    const told = listen(app);
    const statusOf = async (path: string, init: RequestInit) => (await app.fetch(path, init)).status;
    expect(await statusOf('/planned', as({ 'x-plan': 'staff' }))).toBe(200);
    expect(await statusOf('/planned', as({ 'x-plan': 'free' }))).toBe(200);
    expect(await statusOf('/listed', as({ 'x-banned': '1' }))).toBe(403);
    expect(await statusOf('/user', as({ 'x-user': 'unknown' }))).toBe(503);
    expect(await statuses(app, '/shadow', 2, ada)).toEqual([200, 200]);
    expect(told).toMatchObject([
      { policy: 'planned', outcome: 'unlimited', cost: 0, durationMs: 0, plan: 'staff' },
      { policy: 'planned', outcome: 'allowed', plan: 'free', remaining: 0 },
      { policy: 'listed', outcome: 'forbidden', cost: 0, durationMs: 0 },
      { policy: 'user', outcome: 'unidentified', cost: 0, durationMs: 0, cause: expect.any(Error) },
      { policy: 'shadow', outcome: 'allowed', shadow: { outcome: 'allowed', remaining: 0 } },
      { policy: 'shadow', outcome: 'allowed', cost: 0, shadow: { outcome: 'denied', remaining: 0 } },
    ]);
    expect(told).toHaveLength(6);
  });

  test('tells of those for whom there is no place in the fleet', async () => {
    const app = await start({ shed: { fleet: { limit: 2, reserve: 0.5, lease: '30s' } } });
    const first = app.fetch('/hanging');
    await until('one is under way', () => releases.length === 1);
    const told = listen(app);
    expect(await statuses(app, '/one', 1, ada)).toEqual([503]);
    expect(told.filter(({ outcome }) => outcome === 'shed')).toEqual([
      {
        policy: 'shed.fleet-others',
        outcome: 'shed',
        cost: 0,
        reason: 'fleet',
        durationMs: expect.any(Number),
      },
    ]);
    releases.pop()!();
    expect((await first).status).toBe(200);
  });

  test('tells nobody any more when the last has gone, and ends with the application', async () => {
    const app = await start();
    const [limiter, engine] = [app.app.get(RateLimiter), app.app.get(Engine)];
    expect(engine.isWatched).toBe(false);
    const ends: string[] = [];
    const told: Record<'one' | 'other', DecisionEvent[]> = { one: [], other: [] };
    const first = limiter.decisions$.subscribe({
      next: (event) => void told.one.push(event),
      complete: () => ends.push('one'),
    });
    const second = limiter.decisions$.subscribe((event) => void told.other.push(event));
    await statuses(app, '/one', 1, ada);
    first.unsubscribe();
    expect(engine.isWatched).toBe(true);
    await statuses(app, '/one', 2, ada);
    second.unsubscribe();
    // Nobody computes what nobody is told.
    expect(engine.isWatched).toBe(false);
    await statuses(app, '/one', 2, ada);
    expect([told.one.length, told.other.length]).toEqual([1, 3]);
    limiter.decisions$.subscribe({ complete: () => ends.push('late') });
    await app.close();
    expect(ends).toEqual(['late']);
    expect(engine.isWatched).toBe(false);
  });
});

const numbers = { durationMs: expect.any(Number), nextMs: expect.any(Number), resetMs: expect.any(Number) };

describe('while Valkey is stopped', () => {
  const any = (name: string) => name as never;

  test('decisions$ tells which decisions nobody made, and which are this process’s', async () => {
    const valkey = await ownValkey();
    const app = await startLittle(
      'fastify',
      {
        valkey: valkey.url,
        deadline: '5s',
        policies: {
          one: { ...one, onStoreFailure: 'closed' },
          many: { ...one, limit: 100, onStoreFailure: 'local' },
          planned: { ...one, onStoreFailure: 'open' },
        } as never,
      },
      [Little],
    );
    expect(await statuses(app, '/all', 1, ada)).toEqual([200]);
    await valkey.stop();
    const told = listen(app);
    expect(await statuses(app, '/all', 2, ada)).toEqual([503, 503]);
    for (const events of [told.slice(0, 3), told.slice(3)]) {
      expect(events).toMatchObject([
        { policy: 'one', outcome: 'unavailable', onStoreFailure: 'closed', cause: expect.any(Error) },
        { policy: 'many', outcome: 'allowed', store: 'local', remaining: 100, cost: 0 },
        { policy: 'planned', outcome: 'unavailable', onStoreFailure: 'open' },
      ]);
      expect(events[0]!.durationMs).toBeGreaterThan(0);
      expect(events[0]!.durationMs).toBeLessThan(5_000);
    }
  });

  test('it ends with a limiter of its own as well', async () => {
    const limiter = await createRateLimiter({ policies: { one: { ...one, key: client } } });
    let ends = 0;
    limiter.decisions$.subscribe({ complete: () => (ends += 1) });
    await limiter.consume(any('one'), { key: 'ada' });
    await limiter.close();
    expect(ends).toBe(1);
  });
});

@Controller()
class Little {
  @Get('all')
  @Limit('one', 'many', 'planned')
  all(): string {
    return '';
  }
}
