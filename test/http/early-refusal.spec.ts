import { connect } from 'node:net';
import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import {
  type ArgumentsHost,
  BadRequestException,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  HttpException,
  Injectable,
  type MiddlewareConsumer,
  Module,
  Options,
  Param,
  Post,
  UseFilters,
  VersioningType,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, BaseExceptionFilter } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { key, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { RequestLimiter } from '../../libs/rate-limit/src/nest/request-limiter.js';
import { adapters, type RunningApp, startApp, type StartOptions } from '../support/app.js';
import { Limit, LONG } from '../support/little.js';
import { ownValkey } from '../support/valkey.js';

const START = 1_000_000_000_000;

@Controller()
class Routes {
  @Get('page')
  @Limit('by-client')
  page(): string {
    return 'a page';
  }

  @Get('things/:id')
  @Limit('by-client', 'by-address')
  thing(@Param('id') id: string): string {
    return id;
  }

  @Post('login')
  @Limit('by-client', 'by-name')
  login(): string {
    return 'in';
  }

  @Options('page')
  @Limit('by-client')
  options(): string {
    return 'whatever';
  }
}

const one = { algorithm: 'fixed-window', limit: 1, window: LONG } as const;
const options: RateLimitModuleOptions = {
  policies: {
    'by-client': { ...one, key: key.header('x-client') },
    'by-address': { ...one, limit: 100, key: key.join(key.ip(), key.header('x-client')) },
    'by-name': { ...one, key: key.body('name') },
  },
  clock: () => START,
  deadline: '5s',
};

interface Little extends StartOptions {
  readonly limiter?: Partial<RateLimitModuleOptions>;
  readonly controllers?: (new () => unknown)[];
  readonly providers?: object[];
  /** Of the root module: its middleware. */
  configure?(consumer: MiddlewareConsumer): void;
}

async function start(adapter: (typeof adapters)[number], little: Little = {}) {
  const { limiter, controllers = [Routes], providers = [], configure, ...rest } = little;
  class Root {}
  if (configure !== undefined) Object.assign(Root.prototype, { configure });
  Module({
    imports: [RateLimitModule.forRoot({ ...options, ...limiter })],
    controllers,
    providers: providers as never[],
  })(Root);
  const app = await startApp(Root, adapter, rest);
  const begin = jest.spyOn(app.app.get(RequestLimiter), 'begin');
  return { app, guarded: () => begin.mock.calls.length };
}

/** All bytes of the response to a request for `client`, but for the time of day. */
async function bytes({ url }: RunningApp, target: string, client = 'ada', fields = ''): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(
    `${target} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nX-Client: ${client}\r\n${fields}\r\n`,
  );
  let received = '';
  for await (const chunk of socket) received += String(chunk);
  return received.replace(/^Date: .*\r\n/im, '');
}

describe.each(adapters)('on %s', (adapter) => {
  test.each(['GET /page', 'HEAD /page', 'GET /page?any=thing', 'GET /things/7'])(
    '%s is refused before Nest with the bytes that the guard sends',
    async (target) => {
      const [early, late] = [await start(adapter), await start(adapter, { limiter: { refuseIn: 'guard' } })];
      for (const { app } of [early, late]) expect(await bytes(app, target)).toMatch(/^HTTP\/1.1 200/);
      const asked = await bytes(late.app, target);
      expect(asked).toMatch(/^HTTP\/1.1 429/);
      // By the store, by the guard that knows it, and before Nest.
      expect(await bytes(late.app, target)).toBe(asked);
      for (let count = 0; count < 2; count += 1) expect(await bytes(early.app, target)).toBe(asked);
      const before = early.guarded();
      expect(await bytes(early.app, target)).toBe(asked);
      expect(early.guarded()).toBe(before);
      // Nobody else is.
      expect(await bytes(early.app, target, 'bob')).toMatch(/^HTTP\/1.1 200/);
    },
  );

  test('is right to the second, and gone when another is asked for', async () => {
    const time = { now: START };
    const limiter = { clock: () => time.now, denyCache: '1m' } as const;
    const [early, late] = [
      await start(adapter, { limiter }),
      await start(adapter, { limiter: { ...limiter, denyCache: 'off' } }),
    ];
    for (const { app } of [early, late])
      for (let count = 0; count < 3; count += 1) await bytes(app, 'GET /page');
    const seen = new Set<string>();
    const before = early.guarded();
    for (let step = 0; step < 12; step += 1) {
      time.now += 333;
      const answer = await bytes(early.app, 'GET /page');
      expect(answer).toBe(await bytes(late.app, 'GET /page'));
      seen.add(answer);
    }
    expect(early.guarded()).toBe(before);
    expect(seen.size).toBe(4);
  });

  /** How often the guard saw three requests that were refused, after others had been. */
  async function guardedOf(target: string, little?: Little, fields?: string): Promise<number> {
    const { app, guarded } = await start(adapter, little);
    expect(await bytes(app, target, 'ada', fields)).toMatch(/^HTTP\/1.1 20/);
    // The store denies the first, and the guard learns from the next where it was to go.
    for (let count = 0; count < 2; count += 1) {
      expect(await bytes(app, target, 'ada', fields)).toMatch(/^HTTP\/1.1 4/);
    }
    const before = guarded();
    for (let count = 0; count < 3; count += 1) {
      expect(await bytes(app, target, 'ada', fields)).toMatch(/^HTTP\/1.1 4/);
    }
    return guarded() - before;
  }

  test('three of three come before Nest, where nothing speaks against it', async () => {
    expect(await guardedOf('GET /page')).toBe(0);
  });

  test.each([
    ['what is counted by the body', 'POST /login', {}],
    ['where it is not wanted', 'GET /page', { limiter: { refuseIn: 'guard' } }],
    ['where nothing is remembered', 'GET /page', { limiter: { denyCache: 'off' } }],
  ] as const)('the guard refuses %s', async (_, target, little) => {
    expect(await guardedOf(target, little)).toBe(3);
  });

  test('the guard refuses where a filter makes something else of it', async () => {
    @Catch(HttpException)
    class Own implements ExceptionFilter {
      catch(_: unknown, host: ArgumentsHost): void {
        const response = host
          .switchToHttp()
          .getResponse<{ status(code: number): { send(body: string): void } }>();
        response.status(418).send('own');
      }
    }
    @Controller()
    class Filtered {
      @Get('page')
      @Limit('by-client')
      @UseFilters(Own)
      page(): string {
        return '';
      }
    }
    expect(await guardedOf('GET /page', { controllers: [Filtered] })).toBe(3);
    expect(await guardedOf('GET /page', { providers: [{ provide: APP_FILTER, useClass: Own }] })).toBe(3);
    const { app } = await start(adapter, {
      app: (each) => each.useGlobalFilters(new Own()),
    });
    await bytes(app, 'GET /page');
    for (let count = 0; count < 3; count += 1) {
      expect(await bytes(app, 'GET /page')).toMatch(/^HTTP\/1.1 418/);
    }
  });

  test('a filter for something else does not matter', async () => {
    @Catch(BadRequestException, TypeError)
    class Other extends BaseExceptionFilter {}
    expect(await guardedOf('GET /page', { providers: [{ provide: APP_FILTER, useClass: Other }] })).toBe(0);
  });

  test('the guard refuses where another global guard comes first', async () => {
    @Injectable()
    class First implements CanActivate {
      canActivate(): boolean {
        return true;
      }
    }
    const early = { provide: APP_GUARD, useClass: First };
    @Module({ providers: [early] })
    class Guards {}
    class Root {}
    Module({ imports: [Guards, RateLimitModule.forRoot(options)], controllers: [Routes] })(Root);
    const app = await startApp(Root, adapter);
    const begin = jest.spyOn(app.app.get(RequestLimiter), 'begin');
    for (let count = 0; count < 4; count += 1) await bytes(app, 'GET /page');
    expect(begin).toHaveBeenCalledTimes(4);
  });

  test('the answer is the same with CORS and a body of the application, and when that fails', async () => {
    const problem: RateLimitModuleOptions['problem'] = ({ title }, { request, execution, route }) => {
      if (request.headers['x-fail'] !== undefined) throw new BadRequestException('failed');
      return { title, route, handler: execution.getHandler().name, of: execution.getClass().name };
    };
    const app = (each: RunningApp['app']) => each.enableCors({ origin: 'https://shop.example' });
    const [early, late] = [
      await start(adapter, { limiter: { problem }, app }),
      await start(adapter, { limiter: { problem, refuseIn: 'guard' }, app }),
    ];
    for (const fields of ['', 'X-Fail: 1\r\n', 'Origin: https://shop.example\r\n']) {
      let [asked, known] = ['', ''];
      for (let count = 0; count < 3; count += 1) {
        asked = await bytes(late.app, 'GET /page', 'ada', fields);
        known = await bytes(early.app, 'GET /page', 'ada', fields);
      }
      expect(known).toBe(asked);
    }
    expect(await bytes(early.app, 'GET /page')).toMatch(
      /access-control-allow-origin: https:\/\/shop.example/i,
    );
  });

  test('a preflight is spared', async () => {
    const { app } = await start(adapter);
    for (let count = 0; count < 3; count += 1) await bytes(app, 'GET /page');
    const preflight = 'Origin: https://shop.example\r\nAccess-Control-Request-Method: GET\r\n';
    expect(await bytes(app, 'OPTIONS /page', 'ada', preflight)).toMatch(/^HTTP\/1.1 200/);
    for (let count = 0; count < 3; count += 1) {
      expect(await bytes(app, 'OPTIONS /page', 'ada')).toMatch(/^HTTP\/1.1 429/);
    }
    // Also when it is known where that goes.
    expect(await bytes(app, 'OPTIONS /page', 'ada', preflight)).toMatch(/^HTTP\/1.1 200/);
  });

  test('what a middleware of the application adds is there', async () => {
    const configure = (consumer: MiddlewareConsumer) => {
      const add = (
        _: unknown,
        response: { setHeader(name: string, value: string): void },
        next: () => void,
      ) => {
        response.setHeader('X-Added', 'yes');
        next();
      };
      consumer.apply(add).forRoutes('*path');
    };
    const { app } = await start(adapter, { configure });
    await bytes(app, 'GET /page');
    for (let count = 0; count < 3; count += 1) {
      expect(await bytes(app, 'GET /page')).toMatch(/^HTTP\/1.1 429[^]*x-added: yes/i);
    }
  });

  test('versions of a route are told apart', async () => {
    @Controller({ path: 'versioned', version: '1' })
    class One {
      @Get()
      @Limit('by-client')
      get(): string {
        return 'one';
      }
    }
    @Controller({ path: 'versioned', version: '2' })
    class Two {
      @Get()
      get(): string {
        return 'two';
      }
    }
    const { app } = await start(adapter, {
      controllers: [One, Two],
      app: (each) => each.enableVersioning({ type: VersioningType.HEADER, header: 'x-version' }),
    });
    for (let count = 0; count < 4; count += 1) await bytes(app, 'GET /versioned', 'ada', 'X-Version: 1\r\n');
    expect(await bytes(app, 'GET /versioned', 'ada', 'X-Version: 1\r\n')).toMatch(/^HTTP\/1.1 429/);
    expect(await bytes(app, 'GET /versioned', 'ada', 'X-Version: 2\r\n')).toMatch(/^HTTP\/1.1 200/);
  });

  test('hosts of a route are told apart', async () => {
    @Controller({ path: 'hosted', host: 'limited.example' })
    class Limited {
      @Get()
      @Limit('by-client')
      get(): string {
        return 'limited';
      }
    }
    @Controller({ path: 'hosted/:any' })
    class Free {
      @Get()
      get(): string {
        return 'free';
      }
    }
    const { app } = await start(adapter, { controllers: [Limited, Free] });
    const ask = (path: string, host: string) =>
      app.fetch(path, { headers: { 'x-client': 'ada', 'x-forwarded-host': host } });
    for (let count = 0; count < 3; count += 1) await ask('/hosted', 'limited.example');
    expect((await ask('/hosted/x', 'free.example')).status).toBe(200);
  });
});

test('hooks of Fastify that change bodies change it as well', async () => {
  const app = (each: RunningApp['app']) => {
    const fastify = each.getHttpAdapter().getInstance() as FastifyInstance;
    fastify.addHook('preSerialization', (_request, _reply, payload, done) => {
      done(null, { ...(payload as object), trace: 'added' });
    });
  };
  const { app: started, guarded } = await start('fastify', { app });
  for (let count = 0; count < 3; count += 1) await bytes(started, 'GET /page');
  const before = guarded();
  expect(await bytes(started, 'GET /page')).toMatch(/"trace":"added"/);
  expect(guarded()).toBe(before);
});

describe.each(adapters)('with Valkey, on %s', (adapter) => {
  let valkey: string;
  beforeAll(async () => {
    valkey = (await ownValkey()).url;
  });

  test('a client that is reset here passes at once', async () => {
    const { app } = await start(adapter, { limiter: { valkey, prefix: `${adapter}:` } });
    for (let count = 0; count < 3; count += 1) await bytes(app, 'GET /page');
    expect(await bytes(app, 'GET /page')).toMatch(/^HTTP\/1.1 429/);
    const { RateLimiter } = await import('nestjs-valkey-rate-limit');
    await app.app.get(RateLimiter).reset('by-client' as never, { key: 'ada' });
    expect(await bytes(app, 'GET /page')).toMatch(/^HTTP\/1.1 200/);
  });
});
