import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import {
  byPlan,
  createRateLimiter,
  definePolicies,
  key,
  RateLimiter,
  type RateLimitModuleOptions,
  ScheduleError,
} from 'nestjs-valkey-rate-limit';
import { until } from '../tools/until.js';
import { adapters, type RunningApp } from './support/app.js';
import { members } from './support/fields.js';
import { Limit, type LooseOptions, startLittle } from './support/little.js';
import { refusalOf } from './support/refusal.js';

/** The names of the sample's policies are registered for the whole program; these are others. */
const any = (name: string) => name as never;
const stores = ['memory', 'valkey'] as const;
const whereOf = (store: (typeof stores)[number]) =>
  store === 'valkey' ? { valkey: process.env['TEST_VALKEY_URL']! } : {};
const places = { algorithm: 'concurrency', limit: 'adaptive', lease: '20s' } as const;

let prefixes = 0;
let now = 1_700_000_000_000;

describe.each(stores)('an adaptive limit, counted in %s,', (store) => {
  const open: RateLimiter[] = [];
  const policies: RateLimitModuleOptions['policies'] = {
    backend: { ...places, floor: 5, ceiling: 12 },
    plain: places,
    low: { ...places, ceiling: 3 },
    high: { ...places, floor: 300 },
    fixed: { ...places, limit: 4 },
    planned: byPlan(
      { free: { ...places, floor: 2 }, paid: { ...places, floor: 20 }, staff: 'unlimited' },
      { default: 'free' },
    ),
  };
  const start = async () => {
    const limiter = await createRateLimiter({
      ...whereOf(store),
      policies,
      prefix: `adaptive-${process.pid}-${prefixes}:`,
      deadline: '5s',
      clock: () => now,
    });
    open.push(limiter);
    return limiter;
  };
  let limiter: RateLimiter;

  beforeEach(async () => {
    prefixes += 1;
    limiter = await start();
  });
  afterEach(() => Promise.all(open.splice(0).map((each) => each.close())));

  const limitOf = async (policy: string, of = limiter, plan?: string) => {
    const decision = await of.peek(any(policy), { key: 'all', ...(plan !== undefined && { plan }) });
    return 'limit' in decision ? decision.limit : decision.outcome;
  };

  /** Takes all places that there are; `end` gives them back when they were held for so long. */
  const fill = async (policy = 'backend', of = limiter, at = 'all') => {
    let release = () => undefined as void;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const runs: Promise<unknown>[] = [];
    for (;;) {
      const begun = new Promise<boolean>((resolve, reject) => {
        const task = () => {
          resolve(true);
          return gate;
        };
        const run = of.schedule(any(policy), { key: at, maxWait: 0 }, task).catch((error: unknown) => {
          if (error instanceof ScheduleError && error.reason === 'max-wait') resolve(false);
          else reject(error as Error);
        });
        runs.push(run);
      });
      if (!(await begun)) break;
    }
    const end = async (ms: number) => {
      now += ms;
      release();
      await Promise.all(runs);
    };
    return { count: runs.length - 1, end };
  };

  const rounds = async (count: number, ms: number, policy = 'backend') => {
    for (let round = 0; round < count; round += 1) await (await fill(policy)).end(ms);
  };

  test('begins at the floor, grows to the ceiling while work takes what it always takes, and falls', async () => {
    expect(await limitOf('backend')).toBe(5);
    expect((await fill()).count).toBe(5);
    await limiter.reset(any('backend'), { key: 'all' });
    await rounds(10, 1_000);
    const limit = await limitOf('backend');
    expect(limit).toBeGreaterThan(5);
    expect(limit).toBeLessThan(12);
    await rounds(20, 1_000);
    expect(await limitOf('backend')).toBe(12);
    const { count, end } = await fill();
    expect(count).toBe(12);
    await end(1_000);
    await rounds(5, 5_000);
    expect(await limitOf('backend')).toBeLessThan(12);
    await rounds(30, 5_000);
    expect(await limitOf('backend')).toBe(5);
  });

  test('is told by every decision, with what is left of it', async () => {
    await rounds(30, 1_000);
    expect(await limiter.consume(any('backend'), { key: 'bob' })).toMatchObject({ limit: 12, remaining: 11 });
  });

  test('is 5 to 200 where it does not say, and goes by what it says', async () => {
    expect(await limitOf('plain')).toBe(5);
    expect(await limitOf('low')).toBe(3);
    await rounds(10, 1_000, 'low');
    expect(await limitOf('low')).toBe(3);
    expect(await limitOf('high')).toBe(300);
  });

  test('is found out for each plan', async () => {
    expect(await limitOf('planned')).toBe(2);
    expect(await limitOf('planned', limiter, 'paid')).toBe(20);
    expect(await limitOf('planned', limiter, 'staff')).toBe('unlimited');
  });

  test('gives way to the number of an operator, and goes on when that ends', async () => {
    await limiter.overrides.set(any('backend'), 'all', { limit: 2, until: now + 3_600_000 });
    expect(await limitOf('backend')).toBe(2);
    await rounds(30, 1_000);
    expect(await limitOf('backend')).toBe(2);
    // Nothing was measured meanwhile.
    expect(await limiter.peek(any('backend'), { key: 'bob' })).toMatchObject({ limit: 5 });
    now += 3_600_000;
    expect(await limitOf('backend')).toBe(5);
    const set = (numbers: object) => limiter.overrides.set(any('backend'), 'all', numbers);
    await expect(set({ limit: 'adaptive' })).rejects.toMatchObject({ code: 'INVALID_LIMIT' });
    const other = limiter.overrides.set(any('fixed'), 'all', { limit: 'adaptive' } as never);
    await expect(other).rejects.toMatchObject({ code: 'INVALID_LIMIT' });
    await expect(set({ burst: 5 })).rejects.toMatchObject({ code: 'UNKNOWN_OPTION' });
  });

  test('a task that was given up does not count, nor one that fails at once', async () => {
    for (let count = 0; count < 60; count += 1) {
      const aborted = new AbortController();
      const { signal } = aborted;
      await limiter.schedule(any('backend'), { key: 'all', cost: 5, signal }, () => {
        now += 1_000;
        aborted.abort();
      });
      const failing = limiter.schedule(any('backend'), { key: 'all', cost: 5 }, () => {
        throw new TypeError('as the test wants');
      });
      await expect(failing).rejects.toThrow('as the test wants');
    }
    expect(await limitOf('backend')).toBe(5);
  });

  if (store === 'valkey') {
    test('an instance that has just started begins where the others are, as soon as they leave it nothing', async () => {
      await rounds(30, 1_000);
      const fresh = await start();
      expect(await limitOf('backend', fresh)).toBe(5);
      const { end } = await fill();
      for (let count = 0; count < 10; count += 1) {
        expect(await fresh.consume(any('backend'), { key: 'all' })).toMatchObject({ outcome: 'denied' });
      }
      expect(await limitOf('backend', fresh)).toBe(12);
      await end(1_000);
      expect((await fill('backend', fresh)).count).toBe(12);
    });
  }
});

const HOLDING = { fast: 1_000, slow: 10_000 };
const releases: (() => void)[] = [];

@Controller()
class Routes {
  @Get()
  @Limit('backend')
  async work(): Promise<string> {
    await new Promise<void>((resolve) => releases.push(resolve));
    return 'done';
  }
}

describe.each(adapters.flatMap((adapter) => stores.map((store) => [adapter, store] as const)))(
  'requests on %s, counted in %s,',
  (adapter, store) => {
    test('are let through as the limit says, which follows how long they take, and is announced', async () => {
      const limits: LooseOptions = {
        ...whereOf(store),
        policies: { backend: { ...places, floor: 5, ceiling: 7, key: key.global() } },
        prefix: `adaptive-http-${process.pid}-${(prefixes += 1)}:`,
        deadline: '5s',
        clock: () => now,
      };
      const app: RunningApp = await startLittle(adapter, limits, [Routes]);
      const limiter = app.app.get(RateLimiter);
      const round = async (ms: number) => {
        const answered: Response[] = [];
        const asked = Array.from({ length: 8 }, async () => answered.push(await app.fetch('/')));
        await until('all have come', () => releases.length + answered.length === 8);
        now += ms;
        const passed = releases.splice(0);
        for (const release of passed) release();
        await Promise.all(asked);
        await until('all places are free', async () => {
          const decision = await limiter.peek(any('backend'), { key: 'global' });
          return decision.outcome === 'allowed' && decision.remaining === decision.limit;
        });
        expect(answered.filter(({ status }) => status === 200)).toHaveLength(passed.length);
        const [announced] = members(answered.at(-1)!, 'RateLimit-Policy');
        expect(announced).toMatchObject({ name: 'backend', q: passed.length });
        return passed.length;
      };
      const described = () => limiter.describe()[0]!.policies[0]!.limits;

      expect(await round(HOLDING.fast)).toBe(5);
      expect(described()).toEqual([{ limit: 5 }]);
      for (let count = 0; count < 12; count += 1) await round(HOLDING.fast);
      expect(await round(HOLDING.fast)).toBe(7);
      expect(described()).toEqual([{ limit: 7 }]);
      for (let count = 0; count < 40; count += 1) await round(HOLDING.slow);
      expect(await round(HOLDING.slow)).toBe(5);
    });
  },
);

test.each(adapters)('requests on %s whose clients hang up are not measured', async (adapter) => {
  const backend = { ...places, floor: 5, ceiling: 7, key: key.global() };
  const app = await startLittle(adapter, { policies: { backend }, clock: () => now }, [Routes]);
  const look = () => app.app.get(RateLimiter).peek(any('backend'), { key: 'global' });
  for (let round = 0; round < 15; round += 1) {
    const hangUp = new AbortController();
    const asked = Array.from({ length: 5 }, () => app.fetch('/', { signal: hangUp.signal }));
    await until('all are let through', () => releases.length === 5);
    now += 1_000;
    hangUp.abort();
    await Promise.allSettled(asked);
    await until('all places are free', async () => ((await look()) as { remaining: number }).remaining >= 5);
    for (const release of releases.splice(0)) release();
  }
  expect(await look()).toMatchObject({ limit: 5, remaining: 5 });
});

describe('what cannot be found out is refused at boot', () => {
  @Controller()
  class Route {
    @Get()
    @Limit('one')
    route(): string {
      return '';
    }
  }
  const fixed = { algorithm: 'fixed-window', limit: 'adaptive', window: '1m' };

  test.each([
    [
      { ...places, floor: 0 },
      'INVALID_FLOOR',
      /^policy "one": floor must be a whole number from 1 to 10000, not 0/,
    ],
    [{ ...places, floor: 2.5 }, 'INVALID_FLOOR', /not 2.5/],
    [{ ...places, floor: '5' }, 'INVALID_FLOOR', /Convert it first/],
    [{ ...places, ceiling: 10_001 }, 'INVALID_CEILING', /ceiling must be a whole number from 1 to 10000/],
    [{ ...places, ceiling: null }, 'INVALID_CEILING', /not null/],
    [{ ...places, floor: 9, ceiling: 8 }, 'FLOOR_ABOVE_CEILING', /9 is above 8/],
    [{ ...places, limit: 5, floor: 1 }, 'UNKNOWN_OPTION', /no option "floor"/],
    [{ ...places, limit: 'automatic' }, 'INVALID_LIMIT', /limit must be a whole number/],
    [{ ...places, lease: undefined }, 'INVALID_LEASE', /lease must be a duration/],
    [{ ...places, window: '1m' }, 'UNKNOWN_OPTION', /no option "window" here. Known: .*ceiling, floor/],
    [{ ...places, lease: 500 }, 'SHORT_LEASE', /a lease of 500 ms/],
    [fixed, 'INVALID_LIMIT', /limit 'adaptive' is for concurrency, .* fixed-window needs a number/],
    [{ ...fixed, algorithm: 'window' }, 'INVALID_ALGORITHM', /algorithm must be one of/],
    [byPlan({ a: { ...places, floor: 0 } }, { default: 'a' }), 'INVALID_FLOOR', /policy "one" plan "a"/],
  ])('%j', async (one, code, message) => {
    const error = await refusalOf({ policies: { one: { ...one, key: key.global() } } }, Route);
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)]);
  });
});

/** Compiled by the type check, and never run. */
export function types(): void {
  definePolicies({ plain: places, bounded: { ...places, floor: 5, ceiling: 200 } });
  definePolicies({ fixed: { algorithm: 'concurrency', limit: 5, lease: '1s' } });
  // @ts-expect-error a floor of what has a number
  definePolicies({ wrong: { algorithm: 'concurrency', limit: 5, floor: 5, lease: '1s' } });
  // @ts-expect-error a ceiling of what has a number
  definePolicies({ wrong: { algorithm: 'concurrency', limit: 5, ceiling: 5, lease: '1s' } });
  // @ts-expect-error another word
  definePolicies({ wrong: { algorithm: 'concurrency', limit: 'automatic', lease: '1s' } });
  // @ts-expect-error no lease
  definePolicies({ wrong: { algorithm: 'concurrency', limit: 'adaptive' } });
  // @ts-expect-error a limit that cannot be found out
  definePolicies({ wrong: { algorithm: 'fixed-window', limit: 'adaptive', window: '1m' } });
  // @ts-expect-error a floor that is a text
  definePolicies({ wrong: { ...places, floor: '5' } });
}
