import { describe, expect, test } from '@jest/globals';
import { Controller, Delete, Get, HttpCode, Inject, Param, Put, Query } from '@nestjs/common';
import { byPlan, key, LimitOverrides, type RateLimitContext } from 'nestjs-valkey-rate-limit';
import { adapters } from '../support/app.js';
import { members } from '../support/fields.js';
import { Limit, type LooseOptions, startLittle, statuses } from '../support/little.js';

const atMost = (limit: number) => ({ algorithm: 'sliding-counter', limit, window: '1h' }) as const;

const policies = {
  contract: { ...atMost(2), key: key.tenant() },
  planned: byPlan({ free: atMost(2), staff: 'unlimited' }, { default: 'free' }),
  login: { ...atMost(2), key: key.join(key.tenant(), key.header('x-client')) },
  either: { ...atMost(2), key: key.firstOf(key.tenant(), key.ip()) },
} satisfies LooseOptions['policies'];

@Controller()
class Shop {
  @Get('contract')
  @Limit('contract')
  contract(): string {
    return '';
  }

  @Get('planned')
  @Limit('planned')
  planned(): string {
    return '';
  }

  @Get('login')
  @Limit('login')
  login(): string {
    return '';
  }

  @Get('either')
  @Limit('either')
  either(): string {
    return '';
  }
}

/** What an operator uses. */
@Controller('limits/:policy/:key')
class Limits {
  constructor(@Inject(LimitOverrides) private readonly overrides: LimitOverrides) {}

  @Put()
  set(
    @Param('policy') policy: never,
    @Param('key') whose: string,
    @Query('limit') limit: string,
  ): Promise<void> {
    return this.overrides.set(policy, whose, { limit: Number(limit), until: NOW + 1_000 });
  }

  @Delete()
  @HttpCode(200)
  delete(@Param('policy') policy: never, @Param('key') whose: string): Promise<void> {
    return this.overrides.delete(policy, whose);
  }
}

const NOW = 1_700_000_000_000;

const header = (name: string) => (context: RateLimitContext) => context.request.headers[name] as string;
const of = (tenant: string, more: Record<string, string> = {}) => ({
  headers: { 'x-tenant': tenant, ...more },
});

/** The limit and what is left of it, as a client reads them. */
const told = (response: Response) => [
  members(response, 'RateLimit-Policy')[0]?.['q'],
  members(response, 'RateLimit')[0]?.['r'],
];

describe.each(adapters)('a limit that is changed while running, on %s,', (adapter) => {
  let now: number;
  const start = async () => {
    now = NOW;
    const identify = { tenant: header('x-tenant'), plan: header('x-plan') };
    const app = await startLittle(adapter, { policies, identify, clock: () => now }, [Shop, Limits]);
    const set = async (path: string, limit: number) =>
      expect((await app.fetch(`/limits/${path}?limit=${limit}`, { method: 'PUT' })).status).toBe(200);
    return { app, set };
  };

  test("is in the fields of the next request, with what was used, and in nobody else's", async () => {
    const { app, set } = await start();
    expect(await statuses(app, '/contract', 3, of('acme'))).toEqual([200, 200, 429]);
    await set('contract/acme', 10);
    const response = await app.fetch('/contract', of('acme'));
    expect([response.status, ...told(response)]).toEqual([200, 10, 7]);
    expect(told(await app.fetch('/contract', of('umbrella')))).toEqual([2, 1]);
    expect(told(await app.fetch('/planned', of('acme')))).toEqual([2, 1]);
  });

  test('ends at its time, and when it is deleted', async () => {
    const { app, set } = await start();
    await set('contract/acme', 10);
    expect(told(await app.fetch('/contract', of('acme')))).toEqual([10, 9]);
    now += 1_000;
    expect(told(await app.fetch('/contract', of('acme')))).toEqual([2, 0]);
    now = NOW;
    await set('contract/umbrella', 10);
    expect(told(await app.fetch('/contract', of('umbrella')))).toEqual([10, 9]);
    await app.fetch('/limits/contract/umbrella', { method: 'DELETE' });
    expect(told(await app.fetch('/contract', of('umbrella')))).toEqual([2, 0]);
  });

  test('of 0 refuses whom it is for, and does not say when to come back', async () => {
    const { app, set } = await start();
    await set('contract/acme', 0);
    const response = await app.fetch('/contract', of('acme'));
    expect([response.status, ...told(response), response.headers.get('retry-after')]).toEqual([
      429,
      0,
      0,
      null,
    ]);
    expect(await statuses(app, '/contract', 1, of('umbrella'))).toEqual([200]);
  });

  test('goes before the plan, also before one without a limit', async () => {
    const { app, set } = await start();
    const [free, staff] = [of('acme', { 'x-plan': 'free' }), of('acme', { 'x-plan': 'staff' })];
    expect(told(await app.fetch('/planned', staff))).toEqual([undefined, undefined]);
    await set('planned/acme', 3);
    expect(told(await app.fetch('/planned', free))).toEqual([3, 2]);
    expect(told(await app.fetch('/planned', staff))).toEqual([3, 1]);
    expect(await statuses(app, '/planned', 2, staff)).toEqual([200, 429]);
    expect(told(await app.fetch('/planned', of('umbrella', { 'x-plan': 'staff' })))).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('is for the text that a key of several parts gives', async () => {
    const { app, set } = await start();
    await set('login/acme%7Cone', 10);
    await set('either/1.tenant=acme', 10);
    expect(told(await app.fetch('/login', of('acme', { 'x-client': 'one' })))).toEqual([10, 9]);
    expect(told(await app.fetch('/login', of('acme', { 'x-client': 'two' })))).toEqual([2, 1]);
    expect(told(await app.fetch('/either', of('acme')))).toEqual([10, 9]);
    expect(told(await app.fetch('/either'))).toEqual([2, 1]);
  });
});
