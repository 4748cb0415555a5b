import { beforeEach, describe, expect, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { key, type ModuleExtras, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { as, authenticate } from '../support/authentication.js';
import { Limit, LONG, startLittle } from '../support/little.js';
import { LimiterLogs } from '../support/logs.js';

const many = { algorithm: 'fixed-window', limit: 100_000, window: LONG } as const;

const policies = {
  user: { ...many, key: key.user() },
  'user-and-route': { ...many, key: key.join(key.user(), key.route()) },
  'user-or-address': { ...many, key: key.firstOf(key.user(), key.ip()) },
  address: { ...many, key: key.ip() },
} satisfies RateLimitModuleOptions['policies'];

@Controller()
class Who {
  @Get('user')
  @Limit('user', 'address')
  user(): string {
    return '';
  }

  @Get('user/too')
  @Limit('user')
  userToo(): string {
    return '';
  }

  @Get('both')
  @Limit('user-and-route')
  both(): string {
    return '';
  }

  @Get('either')
  @Limit('user-or-address')
  either(): string {
    return '';
  }
}

describe('a policy that never knows whom it counts', () => {
  let logs: LimiterLogs;
  const start = async (options: RateLimitModuleOptions & ModuleExtras = {}) => {
    const { app: hook } = authenticate('fastify');
    const app = await startLittle('fastify', { policies, ...options }, [Who], {
      module: logs.install,
      ...(hook && { app: hook }),
    });
    return async (path: string, times: number, init?: RequestInit) => {
      for (let count = 0; count < times; count += 1) await app.fetch(path, init);
    };
  };
  const warnings = () => logs.lines.filter((line) => line.startsWith('warn'));

  beforeEach(() => {
    logs = new LimiterLogs();
  });

  test('is warned about after a hundred requests, once for all its routes', async () => {
    const ask = await start();
    await ask('/user', 60);
    await ask('/user/too', 39);
    expect(warnings()).toEqual([]);
    await ask('/user', 1);
    expect(warnings()).toEqual([
      'warn: Policy "user" counts by user, and none of its first 100 requests had one: nobody is told apart by it. ' +
        "Authenticate in a middleware or hook, or say authentication: 'guards'.",
    ]);
    await ask('/user', 150);
    await ask('/user/too', 150);
    expect(warnings()).toHaveLength(1);
  });

  test('is warned about where something else is joined to it', async () => {
    const ask = await start();
    await ask('/both', 100);
    expect(warnings()).toEqual([expect.stringContaining('Policy "user-and-route" counts by user')]);
  });

  test('is told where to look with authentication in guards', async () => {
    const ask = await start({ authentication: 'guards' });
    await ask('/user', 100);
    expect(warnings()).toEqual([
      expect.stringMatching(
        /^warn: Policy "user" .* Is there a guard at these handlers that sets request\.user\?/,
      ),
    ]);
  });

  test('is not, once there was somebody', async () => {
    const ask = await start();
    await ask('/user', 50);
    await ask('/user/too', 1, as('ada'));
    await ask('/user', 150);
    expect(warnings()).toEqual([]);
  });

  test('is none that counts by address where nobody is known, nor one by something else', async () => {
    const ask = await start();
    await ask('/either', 150);
    expect(warnings()).toEqual([]);
  });

  test('is not one whose identity fails: that is told as it is', async () => {
    let down = true;
    const user = () => {
      if (down) throw new Error('the session store is down');
      return 'ada';
    };
    const ask = await start({ identify: { user } });
    await ask('/user', 150);
    expect(warnings()).toEqual([expect.stringContaining('the session store is down')]);
    down = false;
    await ask('/user', 150);
    expect(warnings()).toHaveLength(1);
  });
});
