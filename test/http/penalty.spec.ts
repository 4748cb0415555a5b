import { describe, expect, jest, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { key } from 'nestjs-valkey-rate-limit';
import { RequestLimiter } from '../../libs/rate-limit/src/nest/request-limiter.js';
import { adapters } from '../support/app.js';
import { members } from '../support/fields.js';
import { callsOf, lookInto } from '../support/client.js';
import { Limit, startLittle, statuses } from '../support/little.js';
import { ownValkey } from '../support/valkey.js';

const START = 1_000_000_000_000;
const MINUTE = 60_000;

@Controller()
class Routes {
  @Get('login')
  @Limit('login', 'address')
  login(): string {
    return 'in';
  }

  @Get('shadow')
  @Limit('shadow')
  shadow(): string {
    return 'in';
  }
}

const login = { algorithm: 'sliding-log', limit: 2, window: '1m', key: key.ip() } as const;
const penalty = { after: 3, block: '15m', growth: 2, max: '24h' } as const;
const policies = {
  login: { ...login, penalty },
  address: { ...login, limit: 100 },
  shadow: { ...login, penalty, mode: 'shadow' },
} as const;

describe.each(
  adapters.flatMap((adapter) => (['memory', 'valkey'] as const).map((store) => [adapter, store] as const)),
)('a penalty on %s, counted in %s', (adapter, store) => {
  const start = async () => {
    const valkey = store === 'valkey' ? (await ownValkey()).url : undefined;
    const clock = { now: START };
    const limits = { policies, clock: () => clock.now, deadline: '5s', ...(valkey && { valkey }) } as const;
    const app = await startLittle(adapter, limits, [Routes]);
    return { app, clock, valkey, get: () => app.fetch('/login') };
  };

  test('blocks whoever goes on asking, says so, and for longer the next time', async () => {
    const { app, clock, get } = await start();
    expect(await statuses(app, '/login', 2)).toEqual([200, 200]);
    for (let count = 0; count < 2; count += 1) {
      const refused = await get();
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
      expect(((await refused.json()) as { type: string }).type).toMatch(/#quota-exceeded$/);
    }
    for (let count = 0; count < 3; count += 1) {
      const blocked = await get();
      expect([blocked.status, blocked.headers.get('retry-after')]).toEqual([429, '900']);
      expect(members(blocked, 'RateLimit')).toMatchObject([{ name: 'login', r: 0, t: 900 }]);
      expect(await blocked.json()).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
        title: 'Request not satisfied due to detection of abnormal request pattern',
        status: 429,
        detail: 'The limit "login" is exceeded, again and again. Try again in 900 seconds.',
        'violated-policies': ['login'],
      });
    }
    // The limit alone would allow it.
    clock.now = START + 15 * MINUTE - 1;
    expect((await get()).headers.get('retry-after')).toBe('1');
    clock.now = START + 15 * MINUTE;
    expect(await statuses(app, '/login', 5)).toEqual([200, 200, 429, 429, 429]);
    expect((await get()).headers.get('retry-after')).toBe('1800');
  });

  test('whoever is blocked is refused before Nest and without asking', async () => {
    const { app, valkey, get } = await start();
    await statuses(app, '/login', 7);
    const begin = jest.spyOn(app.app.get(RequestLimiter), 'begin');
    const client = valkey === undefined ? undefined : lookInto(valkey);
    await client?.config('RESETSTAT');
    const { status } = await get();
    expect(status).toBe(429);
    if (client === undefined) return;
    expect(await callsOf(client, 'evalsha')).toBe(0);
    expect(begin).not.toHaveBeenCalled();
  });

  test('every refusal of a row is decided in one call, and no other writes', async () => {
    const { app, valkey } = await start();
    if (valkey === undefined) return;
    const client = lookInto(valkey);
    await statuses(app, '/login', 2);
    await client.config('RESETSTAT');
    await statuses(app, '/login', 3);
    expect(await callsOf(client, 'evalsha')).toBe(3);
    expect(await callsOf(client, 'set')).toBe(3);
    await client.config('RESETSTAT');
    await statuses(app, '/login', 5);
    expect(await callsOf(client, 'set')).toBe(0);
  });

  test('in shadow nobody is blocked, and nobody is told', async () => {
    const { app } = await start();
    expect(await statuses(app, '/shadow', 6)).toEqual([200, 200, 200, 200, 200, 200]);
    const response = await app.fetch('/shadow');
    expect(members(response, 'RateLimit')).toEqual([]);
    expect(members(response, 'RateLimit-Policy')).toEqual([]);
  });
});
