import { describe, expect, test } from '@jest/globals';
import { Controller, Get, Inject, Injectable, Module, Param, UseGuards } from '@nestjs/common';
import {
  RateLimiter,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitOptionsFactory,
} from 'nestjs-valkey-rate-limit';
import { adapters, startApp } from '../support/app.js';
import { limitFields, members } from '../support/fields.js';
import { Limit, little, LONG, type LooseLimiter, startLittle, statuses } from '../support/little.js';

const two = { algorithm: 'fixed-window', limit: 2, window: LONG } as const;
const limits: RateLimitModuleOptions = { policies: { two, other: two } };

@Controller('plain')
class Plain {
  @Get()
  @Limit('two')
  list(): string {
    return '';
  }
}

@Injectable()
class Settings {
  readonly limit = 2;
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

@Injectable()
class Factory implements RateLimitOptionsFactory {
  constructor(@Inject(Settings) private readonly settings: Settings) {}

  createRateLimitOptions(): Promise<RateLimitModuleOptions> {
    return Promise.resolve({ policies: { two: { ...two, limit: this.settings.limit } } });
  }
}

@Module({ imports: [SettingsModule], providers: [Factory], exports: [Factory] })
class FactoryModule {}

describe.each(adapters)('forRootAsync on %s', (adapter) => {
  test.each([
    [
      'useFactory with inject and imports',
      () =>
        RateLimitModule.forRootAsync({
          imports: [SettingsModule],
          inject: [Settings],
          useFactory: ({ limit }: Settings) => ({ policies: { two: { ...two, limit } } }),
        }),
    ],
    [
      'useFactory that is asynchronous',
      () => RateLimitModule.forRootAsync({ useFactory: async () => await Promise.resolve(limits) }),
    ],
    ['useClass', () => RateLimitModule.forRootAsync({ imports: [SettingsModule], useClass: Factory })],
    ['useExisting', () => RateLimitModule.forRootAsync({ imports: [FactoryModule], useExisting: Factory })],
  ])('takes %s', async (_, module) => {
    const app = await startApp(little({ imports: [module()], controllers: [Plain] }), adapter);
    expect(await statuses(app, '/plain', 3)).toEqual([200, 200, 429]);
  });
});

describe.each(adapters)('the guard on %s', (adapter) => {
  @Controller('twice')
  @UseGuards(RateLimitGuard)
  class Twice {
    @Get()
    @Limit('two')
    @UseGuards(RateLimitGuard)
    list(): string {
      return '';
    }
  }

  test('that is bound again at a controller and a handler counts a request once', async () => {
    const app = await startLittle(adapter, limits, [Twice]);
    expect(await statuses(app, '/twice', 3)).toEqual([200, 200, 429]);
  });

  test('that is bound again for the whole application counts a request once', async () => {
    const app = await startLittle(adapter, limits, [Plain], {
      app: (each) => each.useGlobalGuards(each.get(RateLimitGuard)),
    });
    expect(await statuses(app, '/plain', 3)).toEqual([200, 200, 429]);
  });

  test('can be taken out of a test with overrideProvider', async () => {
    const app = await startLittle(adapter, limits, [Plain], {
      module: (builder) => builder.overrideProvider(RateLimitGuard).useValue({ canActivate: () => true }),
    });
    expect(await statuses(app, '/plain', 4)).toEqual([200, 200, 200, 200]);
    expect(limitFields(await app.fetch('/plain'))).toEqual([]);
  });

  test('leaves applications with no policy at all alone', async () => {
    @Controller('free')
    class Free {
      @Get()
      list(): string {
        return '';
      }
    }
    const app = await startLittle(adapter, {}, [Free]);
    expect(limitFields(await app.fetch('/free'))).toEqual([]);
  });
});

describe.each(adapters)('RateLimiter as a service on %s', (adapter) => {
  @Injectable()
  class Sms {
    constructor(@Inject(RateLimiter) readonly limiter: LooseLimiter) {}
  }

  @Controller('sms')
  class SmsController {
    constructor(@Inject(Sms) private readonly sms: Sms) {}

    @Get(':phone')
    async send(@Param('phone') phone: string): Promise<string> {
      return (await this.sms.limiter.consume('two', { key: phone })).outcome;
    }
  }

  @Module({ providers: [Sms], controllers: [SmsController], exports: [Sms] })
  class SmsModule {}

  const start = async () => {
    const app = await startApp(little({ limits, imports: [SmsModule], controllers: [Plain] }), adapter);
    return { app, limiter: app.app.get(Sms, { strict: false }).limiter };
  };

  test('is there in every module', async () => {
    const { app } = await start();
    const send = async () => (await app.fetch('/sms/+491')).text();
    expect([await send(), await send(), await send()]).toEqual(['allowed', 'allowed', 'denied']);
  });

  test('consumes, peeks without taking, and resets one key only', async () => {
    const { limiter } = await start();
    for (const key of ['user:1', 'user:10', 'user:1:x']) {
      expect(await limiter.consume('two', { key, cost: 2 })).toMatchObject({
        outcome: 'allowed',
        remaining: 0,
      });
    }
    expect(await limiter.consume('two', { key: 'user:1' })).toMatchObject({ outcome: 'denied' });
    expect(await limiter.peek('two', { key: 'user:1' })).toMatchObject({ outcome: 'allowed', remaining: 0 });
    await limiter.reset('two', { key: 'user:1' });
    expect(await limiter.peek('two', { key: 'user:1' })).toMatchObject({ remaining: 2, resetMs: 0 });
    expect(await limiter.peek('two', { key: 'user:10' })).toMatchObject({ remaining: 0 });
    expect(await limiter.peek('two', { key: 'user:1:x' })).toMatchObject({ remaining: 0 });
    expect(await limiter.peek('other', { key: 'user:1' })).toMatchObject({ remaining: 2 });
  });

  test('counts together with the handlers that name the same policy', async () => {
    const { app, limiter } = await start();
    await app.fetch('/plain');
    expect(await limiter.peek('two', { key: '127.0.0.1' })).toMatchObject({ remaining: 1 });
    await limiter.reset('two', { key: '127.0.0.1' });
    expect(members(await app.fetch('/plain'), 'RateLimit')).toMatchObject([{ name: 'two', r: 1 }]);
  });

  test.each([
    ['a policy that is not there', 'three', { key: 'a' }, 'UNKNOWN_POLICY'],
    ['an empty key', 'two', { key: '' }, 'INVALID_KEY'],
    ['a key that is missing', 'two', {}, 'INVALID_KEY'],
    ['a cost that is negative', 'two', { key: 'a', cost: -1 }, 'INVALID_COST'],
    ['a cost that is a text', 'two', { key: 'a', cost: '1' }, 'INVALID_COST'],
  ])('refuses %s', async (_, policy, options, code) => {
    const { limiter } = await start();
    await expect(limiter.consume(policy, options as never)).rejects.toMatchObject({ code });
  });
});
