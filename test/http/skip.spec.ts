import { describe, expect, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import type { RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { adapters } from '../support/app.js';
import { limitFields, members } from '../support/fields.js';
import { Limit, LONG, Skip, startLittle, statuses } from '../support/little.js';

const never = { algorithm: 'fixed-window', limit: 0, window: LONG } as const;
const often = { algorithm: 'fixed-window', limit: 100, window: LONG } as const;

const limits: RateLimitModuleOptions = {
  policies: { never, often, other: often },
  everyRoute: ['never', 'often'],
};

@Controller('plain')
class Plain {
  @Get()
  limited(): string {
    return '';
  }

  @Get('bare')
  @Skip()
  bare(): string {
    return '';
  }

  @Get('named')
  @Skip('never')
  named(): string {
    return '';
  }

  @Get('both')
  @Skip('never', 'often')
  both(): string {
    return '';
  }

  @Get('stacked')
  @Skip('never')
  @Skip('often')
  stacked(): string {
    return '';
  }

  @Get('own')
  @Skip('never', 'other')
  @Limit('other')
  own(): string {
    return '';
  }

  @Get('everything')
  @Limit('other')
  @Limit(never)
  @Skip()
  everything(): string {
    return '';
  }
}

@Controller('bare-class')
@Limit('never')
@Skip()
class BareClass {
  @Get()
  skipped(): string {
    return '';
  }

  @Get('own')
  @Limit(never)
  own(): string {
    return '';
  }
}

@Controller('named-class')
@Skip('never')
class NamedClass {
  @Get()
  named(): string {
    return '';
  }

  @Get('more')
  @Skip('often')
  more(): string {
    return '';
  }
}

@Controller('child')
class Child extends NamedClass {}

describe.each(adapters)('@SkipRateLimit on %s', (adapter) => {
  const start = () => startLittle(adapter, limits, [Plain, BareClass, NamedClass, Child]);

  test('left out skips nothing', async () => {
    const app = await start();
    expect(await statuses(app, '/plain', 1)).toEqual([429]);
  });

  test.each(['/plain/bare', '/plain/everything', '/bare-class', '/bare-class/own'])(
    'without names skips every policy: %s',
    async (path) => {
      const app = await start();
      expect(await statuses(app, path, 3)).toEqual([200, 200, 200]);
      expect(limitFields(await app.fetch(path))).toEqual([]);
    },
  );

  test.each([
    ['/plain/named', ['often']],
    ['/plain/both', []],
    ['/plain/stacked', []],
    ['/plain/own', ['often']],
    ['/named-class', ['often']],
    ['/named-class/more', []],
    ['/child', ['often']],
    ['/child/more', []],
  ])('with names skips only those: %s is left with %j', async (path, names) => {
    const app = await start();
    const response = await app.fetch(path);
    expect(response.status).toBe(200);
    expect(members(response, 'RateLimit').map(({ name }) => name)).toEqual(names);
  });
});
