import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import type { Redis } from 'iovalkey';
import type { RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { adapters } from '../support/app.js';
import { callsOf, lookInto } from '../support/client.js';
import { members } from '../support/fields.js';
import { Limit, LONG, startLittle, statuses } from '../support/little.js';
import { sameNames } from '../support/same-names.js';
import { ownValkey } from '../support/valkey.js';

const atMost = (limit: number) => ({ algorithm: 'fixed-window', limit, window: LONG }) as const;

@Controller('things')
@Limit('of-class')
class Things {
  @Get()
  @Limit('of-method')
  list(): string {
    return 'things';
  }

  @Get('other')
  other(): string {
    return 'other';
  }
}

const threeLevels: RateLimitModuleOptions = {
  policies: { everywhere: atMost(100), 'of-class': atMost(50), 'of-method': atMost(1) },
  everyRoute: ['everywhere'],
  deadline: '5s',
};

describe.each(adapters)('policies on %s', (adapter) => {
  test('of everyRoute, class and method all apply, and each tells what is left', async () => {
    const app = await startLittle(adapter, threeLevels, [Things]);
    const left = members(await app.fetch('/things'), 'RateLimit').map(({ name, r }) => [name, r]);
    expect(left).toEqual([
      ['everywhere', 99],
      ['of-class', 49],
      ['of-method', 0],
    ]);
    const other = members(await app.fetch('/things/other'), 'RateLimit').map(({ name, r }) => [name, r]);
    expect(other).toEqual([
      ['everywhere', 98],
      ['of-class', 48],
    ]);
  });

  test('take nothing from each other when one refuses', async () => {
    const app = await startLittle(adapter, threeLevels, [Things]);
    expect(await statuses(app, '/things', 10)).toEqual([200, ...Array.from({ length: 9 }, () => 429)]);
    const left = members(await app.fetch('/things/other'), 'RateLimit').map(({ name, r }) => [name, r]);
    // The two that passed, and not the nine that were refused.
    expect(left).toEqual([
      ['everywhere', 98],
      ['of-class', 48],
    ]);
  });

  test('that stand alone or stack on one handler are the same', async () => {
    @Controller()
    class Stacked {
      @Get('together')
      @Limit('one', 'two')
      together(): string {
        return '';
      }

      @Get('stacked')
      @Limit('one')
      @Limit('two')
      stacked(): string {
        return '';
      }
    }
    const app = await startLittle(adapter, { policies: { one: atMost(9), two: atMost(9) } }, [Stacked]);
    const [together, stacked] = [await app.fetch('/together'), await app.fetch('/stacked')];
    expect(members(together, 'RateLimit').map(({ name, r }) => [name, r])).toEqual([
      ['one', 8],
      ['two', 8],
    ]);
    expect(members(stacked, 'RateLimit').map(({ name, r }) => [name, r])).toEqual([
      ['one', 7],
      ['two', 7],
    ]);
  });

  test('of everyRoute leave what is not there alone', async () => {
    const app = await startLittle(adapter, threeLevels, [Things]);
    const response = await app.fetch('/nowhere');
    expect(response.status).toBe(404);
    expect(members(response, 'RateLimit')).toEqual([]);
  });
});

describe.each(adapters)('policies on %s, counting in Valkey', (adapter) => {
  let valkey: string;
  let client: Redis;

  beforeAll(async () => {
    valkey = (await ownValkey()).url;
    client = lookInto(valkey);
  });

  beforeEach(async () => {
    await client.flushall();
  });

  test('of one subject are decided by one command a request, allowed or refused', async () => {
    const app = await startLittle(adapter, { ...threeLevels, valkey, denyCache: 'off' }, [Things]);
    await app.fetch('/things'); // the server learns the script
    await client.config('RESETSTAT');
    expect(await statuses(app, '/things', 10)).toEqual(Array.from({ length: 10 }, () => 429));
    expect(await statuses(app, '/things/other', 10)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(await callsOf(client, 'evalsha')).toBe(20);
    expect(await callsOf(client, 'eval')).toBe(0);
    expect(await callsOf(client, 'script\\|load')).toBe(0);
  });

  test('take nothing from each other when one refuses', async () => {
    const app = await startLittle(adapter, { ...threeLevels, valkey }, [Things]);
    expect(await statuses(app, '/things', 10)).toEqual([200, ...Array.from({ length: 9 }, () => 429)]);
    const left = members(await app.fetch('/things/other'), 'RateLimit').map(({ name, r }) => [name, r]);
    expect(left).toEqual([
      ['everywhere', 98],
      ['of-class', 48],
    ]);
  });

  test('of one route are shared by two instances, inline ones too', async () => {
    const start = () =>
      startLittle(adapter, { valkey, deadline: '5s' }, [
        sameNames('red', atMost(3)),
        sameNames('blue', atMost(3)),
      ]);
    const [one, other] = await Promise.all([start(), start()]);
    expect(await statuses(one, '/red', 2)).toEqual([200, 200]);
    expect(await statuses(other, '/red', 2)).toEqual([200, 429]);
    expect(await statuses(one, '/red', 1)).toEqual([429]);
    expect(await statuses(other, '/blue', 1)).toEqual([200]);
  });

  test('are kept apart by the prefix', async () => {
    const start = (prefix: string) =>
      startLittle(adapter, { valkey, prefix, deadline: '5s' }, [sameNames('red', atMost(1))]);
    const [one, other] = await Promise.all([start('one:'), start('other:')]);
    expect(await statuses(one, '/red', 2)).toEqual([200, 429]);
    expect(await statuses(other, '/red', 2)).toEqual([200, 429]);
    const keys = (await client.keys('*')).toSorted();
    expect(keys).toEqual([
      expect.stringMatching(/^one:\{127\.0\.0\.1\}:get-red\b/),
      expect.stringMatching(/^other:\{127\.0\.0\.1\}:get-red\b/),
    ]);
  });

  test('expire, every key', async () => {
    const app = await startLittle(adapter, { ...threeLevels, valkey }, [Things]);
    await app.fetch('/things');
    const keys = await client.keys('*');
    expect(keys).toHaveLength(3);
    for (const key of keys) expect(await client.pttl(key)).toBeGreaterThan(0);
  });
});
