import { describe, expect, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { adapters } from '../support/app.js';
import { members } from '../support/fields.js';
import { Limit, LONG, startLittle, statuses } from '../support/little.js';
import { sameNames } from '../support/same-names.js';

const atMost = (limit: number) => ({ algorithm: 'fixed-window', limit, window: LONG }) as const;

describe.each(adapters)('inline policies on %s', (adapter) => {
  test('are named after their route', async () => {
    const app = await startLittle(adapter, {}, [sameNames('red-things', atMost(3))]);
    const response = await app.fetch('/red-things');
    expect(members(response, 'RateLimit-Policy')).toEqual([{ name: 'get-red-things', q: 3, w: 315_360_000 }]);
  });

  test('may have a name of their own', async () => {
    const app = await startLittle(adapter, {}, [sameNames('red', { name: 'mine', ...atMost(3) })]);
    expect(members(await app.fetch('/red'), 'RateLimit')).toMatchObject([{ name: 'mine', r: 2 }]);
  });

  test('with a name of their own may be inherited by two controllers, which then share one limit', async () => {
    abstract class Base {
      @Get()
      @Limit({ name: 'mine', ...atMost(2) })
      list(): string {
        return '';
      }
    }
    @Controller('cats')
    class Cats extends Base {}
    @Controller('dogs')
    class Dogs extends Base {}
    const app = await startLittle(adapter, {}, [Cats, Dogs]);
    expect(await statuses(app, '/cats', 1)).toEqual([200]);
    expect(await statuses(app, '/dogs', 2)).toEqual([200, 429]);
  });

  test('of two handlers with the same names on different paths are two limits', async () => {
    const controllers = [sameNames('red', atMost(2)), sameNames('blue', atMost(2))];
    const app = await startLittle(adapter, {}, controllers);
    expect(await statuses(app, '/red', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/blue', 3)).toEqual([200, 200, 429]);
  });

  test('that are one object on two paths are two limits', async () => {
    const strict = atMost(2);
    const app = await startLittle(adapter, {}, [sameNames('red', strict), sameNames('blue', strict)]);
    expect(await statuses(app, '/red', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/blue', 3)).toEqual([200, 200, 429]);
  });

  test('that are one object on two handlers of a class are two limits', async () => {
    const strict = atMost(2);
    @Controller()
    class Shared {
      @Get('red')
      @Limit(strict)
      red(): string {
        return '';
      }

      @Get('blue')
      @Limit(strict)
      blue(): string {
        return '';
      }
    }
    const app = await startLittle(adapter, {}, [Shared]);
    const names = [await app.fetch('/red'), await app.fetch('/blue')].map(
      (response) => members(response, 'RateLimit')[0],
    );
    expect(names).toMatchObject([
      { name: 'get-red', r: 1 },
      { name: 'get-blue', r: 1 },
    ]);
  });

  test('at a class are one limit for its handlers together', async () => {
    @Controller('both')
    @Limit(atMost(3))
    class Both {
      @Get('red')
      red(): string {
        return '';
      }

      @Get('blue')
      blue(): string {
        return '';
      }
    }
    const app = await startLittle(adapter, {}, [Both]);
    expect(await statuses(app, '/both/red', 2)).toEqual([200, 200]);
    expect(await statuses(app, '/both/blue', 2)).toEqual([200, 429]);
    expect(members(await app.fetch('/both/red'), 'RateLimit')).toMatchObject([{ name: 'both' }]);
  });

  test('two of them on one handler both apply', async () => {
    @Controller('two')
    class Two {
      @Get()
      @Limit(atMost(5))
      @Limit(atMost(2))
      list(): string {
        return '';
      }
    }
    const app = await startLittle(adapter, {}, [Two]);
    const response = await app.fetch('/two');
    expect(members(response, 'RateLimit').map(({ r }) => r)).toEqual([4, 1]);
    expect(new Set(members(response, 'RateLimit').map(({ name }) => name)).size).toBe(2);
    expect(await statuses(app, '/two', 2)).toEqual([200, 429]);
  });
});
