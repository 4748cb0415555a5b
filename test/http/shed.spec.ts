import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { type Decision, Priority, type PriorityName, RateLimiter } from 'nestjs-valkey-rate-limit';
import { until } from '../../tools/until.js';
import { adapters, type RunningApp } from '../support/app.js';
import { limitFields } from '../support/fields.js';
import { Limit, LONG, Skip, startLittle } from '../support/little.js';
import { refusalOf } from '../support/refusal.js';

/** A machine that is busy with something else looks saturated as well. */
const PATIENCE_MS = 40_000;

const waiting: (() => void)[] = [];
const hang = () => new Promise<void>((resolve) => waiting.push(resolve));
afterEach(() => {
  for (const release of waiting.splice(0)) release();
});

@Controller()
@Priority('background')
class Routes {
  @Get('critical')
  @Priority('critical')
  async critical(): Promise<string> {
    await hang();
    return 'critical';
  }

  @Get('normal')
  @Priority('normal')
  async normal(): Promise<string> {
    await hang();
    return 'normal';
  }

  @Get('background')
  @Limit('often')
  async background(): Promise<string> {
    await hang();
    return 'background';
  }

  @Get('health')
  @Skip()
  health(): string {
    return 'up';
  }
}

@Controller('quick')
class Quick {
  @Get('critical')
  @Priority('critical')
  critical(): string {
    return '';
  }

  @Get('normal')
  normal(): string {
    return '';
  }

  @Get('background')
  @Priority('background')
  background(): string {
    return '';
  }

  @Get('health')
  @Skip()
  health(): string {
    return '';
  }
}

const policies = { often: { algorithm: 'fixed-window', limit: 100, window: LONG } } as const;
let prefixes = 0;

describe.each(
  adapters.flatMap((adapter) => (['memory', 'valkey'] as const).map((store) => [adapter, store] as const)),
)('a fleet on %s, counted in %s,', (adapter, store) => {
  const start = (shed: object, prefix = `shed-${process.pid}-${(prefixes += 1)}:`) =>
    startLittle(
      adapter,
      {
        policies,
        shed,
        deadline: '5s',
        prefix,
        ...(store === 'valkey' && { valkey: process.env['TEST_VALKEY_URL']! }),
      },
      [Routes],
    );
  const begin = async (app: RunningApp, path: string) => {
    const before = waiting.length;
    const answer = app.fetch(path);
    await until(`${path} is under way`, () => waiting.length > before);
    return answer;
  };

  test('keeps a share of its places for what is critical', async () => {
    const app = await start({ fleet: { limit: 4, reserve: 0.5, lease: '30s' } });
    const told: Decision[] = [];
    app.app.get(RateLimiter).decisions$.subscribe((decision) => void told.push(decision));
    const others = [begin(app, '/normal'), begin(app, '/background')];
    await until('two are under way', () => waiting.length === 2);
    for (const path of ['/normal', '/background']) {
      const refused = await app.fetch(path);
      expect(refused.status).toBe(503);
      expect(refused.headers.get('retry-after')).toBe('1');
      // Of a limit of the client's own it is told as ever, and of the fleet nothing.
      expect(refused.headers.get('ratelimit-policy') ?? '').not.toContain('shed');
      if (path === '/normal') expect(limitFields(refused)).toEqual(['retry-after']);
      expect(await refused.json()).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
        title: 'Request cannot be satisfied due to temporary server capacity constraints',
        status: 503,
        detail: 'There is not enough for all. Try again in 1 second.',
      });
    }
    expect(told.filter(({ outcome }) => outcome === 'shed')).toEqual(
      Array.from({ length: 2 }, () => ({
        outcome: 'shed',
        policy: 'shed.fleet-others',
        cost: 0,
        durationMs: expect.any(Number),
        reason: 'fleet',
      })),
    );
    const critical = [begin(app, '/critical'), begin(app, '/critical')];
    await until('four are under way', () => waiting.length === 4);
    expect((await app.fetch('/critical')).status).toBe(503);
    expect((await app.fetch('/health')).status).toBe(200);
    for (const release of waiting.splice(0)) release();
    const answers = await Promise.all([...others, ...critical]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    // What was shed took nothing from the client's own limit.
    expect(answers[1]!.headers.get('ratelimit')).toBe(
      `"often";r=99;t=${/t=(\d+)/.exec(answers[1]!.headers.get('ratelimit')!)![1]}`,
    );
    await until('a place is free again', async () => {
      const next = app.fetch('/normal');
      await sleep(20);
      for (const release of waiting.splice(0)) release();
      return (await next).status === 200;
    });
  });

  test('goes by the request where that says how important it is', async () => {
    const priority = ({ request }: { request: { headers: Record<string, unknown> } }) =>
      request.headers['x-priority'] as PriorityName | undefined;
    const app = await start({ priority, fleet: { limit: 2, reserve: 0.5 } });
    const first = begin(app, '/normal');
    await until('one is under way', () => waiting.length === 1);
    expect((await app.fetch('/normal')).status).toBe(503);
    expect((await app.fetch('/normal', { headers: { 'x-priority': 'nonsense' } })).status).toBe(503);
    const paid = app.fetch('/normal', { headers: { 'x-priority': 'critical' } });
    await until('two are under way', () => waiting.length === 2);
    for (const release of waiting.splice(0)) release();
    expect((await paid).status).toBe(200);
    expect((await first).status).toBe(200);
  });
});

describe.each(adapters)('a saturated worker on %s', (adapter) => {
  test('refuses what is background, then what is normal, never what is critical, and lets them in again', async () => {
    const app = await startLittle(adapter, { policies, shed: { worker: { utilization: 0.8, delay: 30 } } }, [
      Quick,
    ]);
    const status = async (path: string) => (await app.fetch(`/quick/${path}`)).status;
    const all = () => Promise.all(['critical', 'normal', 'background', 'health'].map(status));
    expect(await all()).toEqual([200, 200, 200, 200]);
    // The event loop of this process, which is also the application's, is kept busy.
    let isBusy = true;
    const busy = () => {
      const end = performance.now() + 60;
      while (performance.now() < end);
      if (isBusy) setImmediate(busy);
    };
    busy();
    await until('background is refused', async () => (await status('background')) === 503);
    await until('all that is normal is refused as well', async () => {
      const several = await Promise.all(Array.from({ length: 20 }, () => status('normal')));
      return several.every((each) => each === 503);
    });
    expect(await status('critical')).toBe(200);
    expect(await status('health')).toBe(200);
    const refused = await app.fetch('/quick/background');
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toMatchObject({
      status: 503,
      detail: expect.stringMatching(/^There is not enough for all\./),
    });
    isBusy = false;
    await until('normal is let in', async () => (await status('normal')) === 200, PATIENCE_MS);
    // Of those one is refused at times, of these none let in.
    expect(await status('background')).toBe(503);
    await until('background is let in', async () => (await status('background')) === 200, PATIENCE_MS);
  }, 90_000);
});

describe('what cannot shed is refused at boot', () => {
  test.each([
    ['always', 'OPTIONS', /RateLimitModule shed: options must be an object, not "always"/],
    [
      { fleet: {} },
      'INVALID_LIMIT',
      /RateLimitModule shed fleet: limit must be a whole number from 1 to 10000/,
    ],
    [
      { fleet: { limit: 10, reserve: 1.2 } },
      'INVALID_RESERVE',
      /reserve must be a share from 0 to 0.9, .* not 1.2/,
    ],
    [{ fleet: { limit: 10, reserve: -0.1 } }, 'INVALID_RESERVE', /reserve must be/],
    [{ fleet: { limit: 10, lease: 0 } }, 'INVALID_LEASE', /lease must be a duration/],
    [{ fleet: { limit: 10, share: 0.1 } }, 'UNKNOWN_OPTION', /there is no option "share" here/],
    [
      { worker: { utilization: 95 } },
      'INVALID_UTILIZATION',
      /utilization must be a share above 0, up to 1, .* not 95/,
    ],
    [{ worker: { delay: 'soon' } }, 'INVALID_DELAY', /delay must be a duration/],
    [{ priority: 'critical' }, 'INVALID_PRIORITY', /priority must be a function/],
    [{ workers: {} }, 'UNKNOWN_OPTION', /there is no option "workers" here/],
  ])('%j', async (shed, code, message) => {
    const error = await refusalOf({ shed }, Quick);
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)]);
  });

  test.each(['urgent', undefined, 1])('@Priority(%p)', (priority) => {
    expect(() => Priority(priority as PriorityName)).toThrow(
      /^@Priority: it must be 'critical', 'normal' or 'background'/,
    );
  });

  test('a policy that is called like those of a fleet', async () => {
    const { code } = await refusalOf({ policies: { 'shed.fleet': policies.often } }, Quick);
    expect(code).toBe('INVALID_NAME');
  });
});
