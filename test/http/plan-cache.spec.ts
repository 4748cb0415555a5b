import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { byPlan, type RateLimitContext } from 'nestjs-valkey-rate-limit';
import { adapters } from '../support/app.js';
import { members } from '../support/fields.js';
import { Limit, LONG, startLittle, statuses } from '../support/little.js';
import { LimiterLogs } from '../support/logs.js';

const atMost = (limit: number) => ({ algorithm: 'fixed-window', limit, window: LONG }) as const;
const policies = {
  api: byPlan({ free: atMost(2), pro: atMost(50) }, { default: 'free' }),
  more: byPlan({ free: atMost(2), pro: atMost(50) }, { default: 'free' }),
};

@Controller()
class Shop {
  @Get()
  @Limit('api', 'more')
  list(): string {
    return '';
  }
}

const tenant = ({ request }: RateLimitContext) => request.headers['x-tenant'] as string;
const of = (name: string) => ({ headers: { 'x-tenant': name } });
const limits = (response: Response) => members(response, 'RateLimit-Policy').map(({ q }) => q);

describe.each(adapters)('a plan that comes from a database, on %s,', (adapter) => {
  /** What the database says, and how often it was asked. */
  const database = { plan: 'pro', down: false, asked: 0 };
  const plan = async () => {
    database.asked += 1;
    await sleep(20);
    if (database.down) throw new Error('the database is down');
    return database.plan;
  };
  const start = (cacheFor?: '1m' | '100ms') => {
    Object.assign(database, { plan: 'pro', down: false, asked: 0 });
    const identify = { tenant, plan, ...(cacheFor !== undefined && { cacheFor }) };
    return startLittle(adapter, { policies, identify }, [Shop], { module: new LimiterLogs().install });
  };

  test('is looked up for each request, and once for all its policies', async () => {
    const app = await start();
    expect(await statuses(app, '/', 3, of('acme'))).toEqual([200, 200, 200]);
    expect(database.asked).toBe(3);
  });

  test('is looked up once for requests that come together, where it is remembered', async () => {
    const app = await start('1m');
    const responses = await Promise.all(Array.from({ length: 20 }, () => app.fetch('/', of('acme'))));
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(limits(await app.fetch('/', of('acme')))).toEqual([50, 50]);
    expect(database.asked).toBe(1);
    await app.fetch('/', of('umbrella'));
    expect(database.asked).toBe(2);
  });

  test('is another one when it is forgotten', async () => {
    const app = await start('100ms');
    expect(limits(await app.fetch('/', of('acme')))).toEqual([50, 50]);
    database.plan = 'free';
    await sleep(100);
    expect(limits(await app.fetch('/', of('acme')))).toEqual([2, 2]);
  });

  test('is the default while the database is down, and not longer', async () => {
    const app = await start('1m');
    database.down = true;
    const together = await Promise.all(['acme', 'acme'].map((name) => app.fetch('/', of(name))));
    expect(together.map(limits)).toEqual([
      [2, 2],
      [2, 2],
    ]);
    database.down = false;
    expect(limits(await app.fetch('/', of('acme')))).toEqual([50, 50]);
    database.down = true;
    expect(limits(await app.fetch('/', of('acme')))).toEqual([50, 50]);
  });
});
