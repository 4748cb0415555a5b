import { describe, expect, test } from '@jest/globals';
import {
  applyDecorators,
  Controller,
  type DynamicModule,
  Get,
  Injectable,
  Module,
  type Type,
} from '@nestjs/common';
import { RateLimitModule } from 'nestjs-valkey-rate-limit';
import { startApp } from '../support/app.js';
import { Limit, little, Skip, startLittle } from '../support/little.js';
import { refusal, refusalOf } from '../support/refusal.js';

const api = { algorithm: 'fixed-window', limit: 5, window: '1m' } as const;
const limits = { policies: { api, burst: api } };

type Decorator = ClassDecorator & MethodDecorator;

/** A controller whose one handler is decorated. */
function onMethod(...decorators: Decorator[]): Type {
  @Controller('shop')
  class Shop {
    @Get()
    @applyDecorators(...decorators)
    list(): string {
      return '';
    }
  }
  return Shop;
}

/** A controller that is decorated itself. */
function onClass(...decorators: Decorator[]): Type {
  @Controller('shop')
  @applyDecorators(...decorators)
  class Shop {
    @Get()
    list(): string {
      return '';
    }
  }
  return Shop;
}

/** What a decorator on each level is called in a message. */
const levels = [
  ['method', onMethod, 'Shop.list'],
  ['class', onClass, 'Shop'],
] as const;

describe.each(levels)('a decorator on a %s is refused at boot', (_, decorated, name) => {
  test.each([
    ['@RateLimit', () => Limit('appi'), '"appi" (a string)'],
    ['@RateLimit beside a known one', () => Limit('api', 'brust'), '"brust" (a string)'],
    ['@RateLimit with a cost', () => Limit('appi', { cost: 2 }), '"appi" (a string)'],
    ['@RateLimit that is null', () => Limit('api', null), 'null'],
    ['@RateLimit that is a number', () => Limit(5), '5'],
    ['@RateLimit that is a list', () => Limit(['api']), ''],
    ['@SkipRateLimit', () => Skip('brust'), '"brust" (a string)'],
    ['@SkipRateLimit beside a known one', () => Skip('api', 'brust'), '"brust" (a string)'],
    ['@SkipRateLimit that is undefined', () => Skip(undefined), 'undefined'],
    ['@SkipRateLimit that is a list', () => Skip(['api']), 'an array'],
  ])('that names an unknown policy: %s', async (__, make, shown) => {
    const error = await refusalOf(limits, decorated(make()));
    expect(error.where).toContain(name);
    expect(error.message).toContain(shown);
    if (shown !== '') {
      expect(error.code).toBe('UNKNOWN_POLICY');
      expect(error.message).toContain('Configured: "api", "burst"');
    }
  });

  test('that names no policy', async () => {
    const error = await refusalOf(limits, decorated(Limit()));
    expect(error).toMatchObject({ code: 'NO_POLICY' });
    expect(error.where).toContain(name);
    expect(error.message).toMatch(/Name one/);
  });

  test.each([
    ['at once', () => [Limit('api', 'burst', 'api')]],
    ['one above the other', () => [Limit('api'), Limit('api')]],
    ['with two costs', () => [Limit('api', { cost: 1 }), Limit('api', { cost: 2 })]],
  ])('that names a policy twice, %s', async (__, make) => {
    const error = await refusalOf(limits, decorated(...make()));
    expect(error).toMatchObject({ code: 'REPEATED_POLICY' });
    expect(error.where).toContain(name);
    expect(error.message).toContain('"api"');
  });

  test.each([
    ['limit', '10', 'INVALID_LIMIT'],
    ['limit', undefined, 'INVALID_LIMIT'],
    ['window', '10x', 'INVALID_WINDOW'],
    ['algorithm', 'leaky', 'INVALID_ALGORITHM'],
    ['burst', 5, 'UNKNOWN_OPTION'],
    ['key', 'ip', 'INVALID_KEY'],
    ['cost', '2', 'INVALID_COST'],
    ['name', 'É', 'INVALID_NAME'],
    ['name', 5, 'DUPLICATE_NAME'],
    ['name', 'api', 'DUPLICATE_NAME'],
  ])('whose inline policy has the %s %p', async (option, value, code) => {
    const error = await refusalOf(limits, decorated(Limit({ ...api, [option]: value })));
    // A name that is no text has no code of its own to insist on.
    if (value !== 5 || option !== 'name') expect(error.code).toBe(code);
    expect(error.where).toContain(name);
    if (value !== undefined) expect(error.message).toContain(option === 'burst' ? 'burst' : String(value));
  });

  test.each([
    ['cost', '2', 'INVALID_COST'],
    ['cost', -1, 'INVALID_COST'],
    ['limit', 5, 'UNKNOWN_OPTION'],
    ['algorithm', 'fixed-window', 'INVALID_LIMIT'],
    ['key', () => 'me', 'UNKNOWN_OPTION'],
    ['onStoreFailure', 'open', 'UNKNOWN_OPTION'],
  ])('that uses a named policy with %s: %p', async (option, value, code) => {
    const error = await refusalOf(limits, decorated(Limit('api', { [option]: value })));
    expect(error.code).toBe(code);
    expect(error.where).toContain(name);
  });
});

describe('@RateLimit is refused at boot where it would limit nothing:', () => {
  const modes = [
    ['a method', 'Worker.work'],
    ['the class', 'Worker'],
  ] as const;

  test.each(modes)('on %s of a provider', async (what, name) => {
    @Injectable()
    @applyDecorators(...(what === 'the class' ? [Limit('api')] : []))
    class Worker {
      @applyDecorators(...(what === 'a method' ? [Limit('api')] : []))
      work(): void {}
    }
    const error = await refusal(little({ limits, providers: [Worker] }));
    expect(error).toMatchObject({ code: 'NOT_A_ROUTE', where: name });
    expect(error.message).toMatch(/consume\(\)/);
  });

  test('on a method of a provider in another module', async () => {
    @Injectable()
    class Worker {
      @Limit('api')
      work(): void {}
    }
    @Module({ providers: [Worker] })
    class WorkModule {}
    const error = await refusal(little({ limits, imports: [WorkModule] }));
    expect(error).toMatchObject({ code: 'NOT_A_ROUTE', where: 'Worker.work' });
  });

  test("on a controller's method that is no handler", async () => {
    @Controller()
    class Shop {
      @Get()
      list(): string {
        return this.helper();
      }

      @Limit('api')
      helper(): string {
        return '';
      }
    }
    expect(await refusalOf(limits, Shop)).toMatchObject({ code: 'NOT_A_ROUTE', where: 'Shop.helper' });
  });

  test("on a controller's static method", () => {
    expect(() => {
      @Controller()
      class Shop {
        @Limit('api')
        static helper(): void {}
      }
      return Shop;
    }).toThrow(/^Shop\.helper: .* not on static methods, accessors or properties/);
  });

  test("on a controller's getter", () => {
    expect(() => {
      @Controller()
      class Shop {
        @Limit('api')
        get list(): string {
          return '';
        }
      }
      return Shop;
    }).toThrow(/^Shop\.list: .* not on static methods, accessors or properties/);
  });

  test('on a controller that has no handler', async () => {
    @Controller()
    @Limit('appi')
    class Empty {}
    expect((await refusalOf(limits, Empty)).where).toContain('Empty');
  });

  test("@SkipRateLimit on a controller's method that is no handler", async () => {
    @Controller()
    class Shop {
      @Skip('brust')
      helper(): void {}
    }
    expect((await refusalOf(limits, Shop)).where).toContain('Shop.helper');
  });
});

describe('two modules are refused at boot', () => {
  const feature = (module: DynamicModule) => {
    @Module({ imports: [module] })
    class Feature {}
    return Feature;
  };

  test.each([
    ['forRoot', () => RateLimitModule.forRoot({})],
    ['forRootAsync', () => RateLimitModule.forRootAsync({ useFactory: () => ({}) })],
  ])('beside forRoot: %s in another module', async (_, second) => {
    const error = await refusal(little({ limits, imports: [feature(second())] }));
    expect(error).toMatchObject({ code: 'TWO_MODULES', where: 'RateLimitModule' });
    expect(error.message).toContain('Import the module once');
  });

  test('but not one that two modules import', async () => {
    const once = RateLimitModule.forRoot({});
    await startApp(little({ imports: [feature(once), feature(once)] }), 'fastify');
  });

  test('the bare module, imported for RateLimiter, explains itself as well', async () => {
    @Module({ imports: [RateLimitModule] })
    class Feature {}
    const error = await refusal(little({ limits, imports: [Feature] }));
    expect(error.message).toMatch(/forRoot/);
  });
});

test('what is right on every level boots', async () => {
  const right = [onMethod(Limit('api', 'burst', { cost: 2 }), Skip('burst')), onClass(Limit(api), Skip())];
  await startLittle('express', limits, right);
});
