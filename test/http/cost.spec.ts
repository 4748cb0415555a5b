import { describe, expect, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import type { RateLimitContext } from 'nestjs-valkey-rate-limit';
import { adapters } from '../support/app.js';
import { members } from '../support/fields.js';
import { Limit, LONG, startLittle, statuses } from '../support/little.js';

const ten = { algorithm: 'fixed-window', limit: 10, window: LONG } as const;
const pages = ({ request }: RateLimitContext): number => request['query'].pages;

const policies = {
  plain: ten,
  triple: { ...ten, cost: 3 },
  pages: { ...ten, cost: pages },
  strange: ten,
};

/** What a cost function says that knows no better. */
let strange: unknown;

@Controller()
class Costs {
  @Get('triple')
  @Limit('triple')
  triple(): string {
    return '';
  }

  @Get('double')
  @Limit('triple', { cost: 2 })
  double(): string {
    return '';
  }

  @Get('mixed')
  @Limit('plain', 'triple', { cost: 4 })
  mixed(): string {
    return '';
  }

  @Get('look')
  @Limit('pages', { cost: 0 })
  look(): string {
    return '';
  }

  @Get('search')
  @Limit('pages')
  search(): string {
    return '';
  }

  @Get('strange')
  @Limit('strange', { cost: () => strange as number })
  strange(): string {
    return '';
  }
}

describe.each(adapters)('the cost of a request on %s', (adapter) => {
  const start = () => startLittle(adapter, { policies }, [Costs]);
  const left = (response: Response) =>
    Object.fromEntries(members(response, 'RateLimit').map(({ name, r }) => [name, r]));

  test('is what the policy says, or what the handler says instead', async () => {
    const app = await start();
    expect(left(await app.fetch('/triple'))).toEqual({ triple: 7 });
    expect(left(await app.fetch('/double'))).toEqual({ triple: 5 });
    expect(left(await app.fetch('/triple'))).toEqual({ triple: 2 });
    expect(await statuses(app, '/triple', 1)).toEqual([429]);
    expect(await statuses(app, '/double', 1)).toEqual([200]);
  });

  test('is the same for all policies that a decorator names', async () => {
    const app = await start();
    expect(left(await app.fetch('/mixed'))).toEqual({ plain: 6, triple: 6 });
  });

  test('of 0 takes nothing and tells the truth', async () => {
    const app = await start();
    await app.fetch('/search?pages=4');
    expect(left(await app.fetch('/look'))).toEqual({ pages: 6 });
    expect(left(await app.fetch('/look'))).toEqual({ pages: 6 });
    await app.fetch('/search?pages=6');
    const response = await app.fetch('/look');
    expect([response.status, left(response)]).toEqual([200, { pages: 0 }]);
  });

  test.each([
    ['?pages=3', 3],
    ['?pages=10', 10],
    ['?pages=0', 1],
    ['', 1],
    ['?pages=', 1],
    ['?pages=many', 1],
    ['?pages=-5', 1],
    ['?pages=1.5', 2],
    ['?pages=NaN', 1],
    ['?pages=3&pages=4', 1],
  ])('that comes from the query is rounded up, and at least 1: search%s takes %i', async (query, taken) => {
    const app = await start();
    const response = await app.fetch(`/search${query}`);
    expect([response.status, left(response)]).toEqual([200, { pages: 10 - taken }]);
  });

  test.each([Number.NaN, -1, -Infinity, 0.5, '2x', null, undefined, {}, [], true])(
    'is 1 where the function answers %p',
    async (answer) => {
      strange = answer;
      const app = await start();
      expect(left(await app.fetch('/strange'))).toEqual({ strange: 9 });
    },
  );

  test('that is too much now is refused, takes nothing, and a smaller one passes', async () => {
    const app = await start();
    await app.fetch('/search?pages=8');
    const refused = await app.fetch('/search?pages=5');
    expect([refused.status, left(refused)]).toEqual([429, { pages: 2 }]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await statuses(app, '/search?pages=2', 1)).toEqual([200]);
  });

  test.each(['11', String(Number.MAX_SAFE_INTEGER), String(2 ** 53), '1e30', '9'.repeat(400), 'Infinity'])(
    'that is above the limit is refused without a time to come back: %s',
    async (cost) => {
      const app = await start();
      const response = await app.fetch(`/search?pages=${cost}`);
      expect([response.status, left(response)]).toEqual([429, { pages: 10 }]);
      expect(response.headers.get('retry-after')).toBeNull();
      const { detail } = (await response.json()) as { detail: string };
      expect(detail).toBe(
        'The limit "pages" is exceeded. This request asks for more than the limit ever allows.',
      );
    },
  );
});
