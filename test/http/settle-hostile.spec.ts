import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  type CanActivate,
  Controller,
  Get,
  Injectable,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { key, type Outcome, type RateLimitContext, RateLimiter } from 'nestjs-valkey-rate-limit';
import { until } from '../../tools/until.js';
import { adapters, type RunningApp } from '../support/app.js';
import { type LooseLimiter, Limit, little, LONG, startLittle } from '../support/little.js';

const hundred = { algorithm: 'fixed-window', limit: 100, window: LONG, key: key.global() } as const;

const outcomes: Outcome['result'][] = [];
/** What waits in a guard or a handler. */
const waiting: (() => void)[] = [];
const hang = () => new Promise<void>((resolve) => waiting.push(resolve));

afterEach(() => {
  outcomes.length = 0;
  for (const release of waiting.splice(0)) release();
});

const watch = ({ result }: Outcome) => {
  outcomes.push(result);
  return 0;
};

/** Authenticates, and takes its time. */
@Injectable()
class Slow implements CanActivate {
  async canActivate(): Promise<boolean> {
    await hang();
    return true;
  }
}

@Controller()
class Routes {
  @Get('login')
  @Limit('hundred', { settle: 'on-success-refund' })
  async login(): Promise<never> {
    await hang();
    throw new UnauthorizedException();
  }

  @Get('watched')
  @Limit('hundred', { cost: 10, settle: watch })
  async watched(): Promise<string> {
    await hang();
    return 'done';
  }

  @Get('stages')
  @UseGuards(Slow)
  @Limit('hundred', { cost: 10, settle: watch })
  @Limit('nobody')
  stages(): string {
    return 'never';
  }

  @Get('free')
  @Limit('hundred', { cost: 0, settle: () => 7 })
  free(): string {
    return 'done';
  }

  @Get('null')
  @Limit('hundred', {
    settle: () => {
      // oxlint-disable-next-line no-throw-literal
      throw null;
    },
  })
  null(): string {
    return 'done';
  }

  @Get('endless')
  @Limit('hundred', { settle: () => new Promise(() => undefined) })
  endless(): string {
    return 'done';
  }

  @Get('place')
  @Limit('place')
  async place(): Promise<string> {
    await hang();
    return 'done';
  }
}

const policies = {
  hundred,
  nobody: { ...hundred, limit: 0, key: ({ user }: RateLimitContext) => user },
  place: { algorithm: 'concurrency', limit: 5, lease: '20s', key: key.global() },
} as const;
Object.assign(policies.nobody.key, { needs: ['user'] });

const leftOf = async (app: { get(type: typeof RateLimiter): RateLimiter }, policy: string) => {
  const decision = await (app.get(RateLimiter) as unknown as LooseLimiter).peek(policy, { key: 'global' });
  return 'remaining' in decision ? decision.remaining : undefined;
};

describe.each(adapters)('on %s', (adapter) => {
  let app: RunningApp;
  const start = async () => {
    app = await startLittle(adapter, { policies, authentication: 'guards' }, [Routes]);
  };
  /** A client that sends so many requests at once, and may hang up. */
  const open = async (path: string, times = 1) => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(times));
    return socket;
  };

  test('whoever hangs up between two stages is given back once what the first took', async () => {
    await start();
    const limiter = app.app.get(RateLimiter) as unknown as LooseLimiter;
    await limiter.consume('hundred', { key: 'global', cost: 50 });
    const socket = await open('/stages');
    await until('the first stage has taken', async () => (await leftOf(app.app, 'hundred')) === 40);
    socket.destroy();
    await until('that is settled', async () => (await leftOf(app.app, 'hundred')) === 50);
    for (const release of waiting.splice(0)) release();
    // The second stage refuses now, and what it would give back is given back already.
    await until('it has refused', async () => (await app.fetch('/free')).status === 200);
    expect(await leftOf(app.app, 'hundred')).toBeLessThanOrEqual(50);
    expect(outcomes).toEqual(['abandoned']);
  });

  test('requests that are pipelined behind another end with their connection', async () => {
    await start();
    const socket = await open('/watched', 12);
    await until('some are counted', async () => (await leftOf(app.app, 'hundred'))! < 100);
    const places = await open('/place', 3);
    await until('some are held', async () => (await leftOf(app.app, 'place'))! < 5);
    socket.destroy();
    places.destroy();
    await until('all are settled', async () => (await leftOf(app.app, 'hundred')) === 100);
    await until('all are free', async () => (await leftOf(app.app, 'place')) === 5);
    expect(new Set(outcomes)).toEqual(new Set(['abandoned']));
  });

  test('a function has its say also where nothing was reserved', async () => {
    await start();
    await app.fetch('/free');
    await until('it is charged', async () => (await leftOf(app.app, 'hundred')) === 93);
  });

  test('a function that throws nothing at all harms nobody', async () => {
    await start();
    expect((await app.fetch('/null')).status).toBe(200);
    expect((await app.fetch('/null')).status).toBe(200);
    expect(await leftOf(app.app, 'hundred')).toBe(98);
  });

  test('a function that never answers holds nobody up who shuts down', async () => {
    await start();
    await app.fetch('/endless');
    const began = performance.now();
    await app.close();
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});

test('whoever resets a stream of HTTP/2 has hung up, and is given nothing back', async () => {
  const compiled = await Test.createTestingModule({
    imports: [little({ limits: { policies }, controllers: [Routes] })],
  }).compile();
  const adapter = new FastifyAdapter({ http2: true } as never);
  const app = compiled.createNestApplication<NestFastifyApplication>(adapter);
  await app.listen(0, '127.0.0.1');
  const client = connectHttp2(await app.getUrl());
  try {
    for (let count = 1; count <= 3; count += 1) {
      const stream = client.request({ ':path': '/login' });
      stream.on('error', () => undefined);
      await until('it is counted', async () => (await leftOf(app, 'hundred')) === 100 - count);
      stream.close(8);
      await once(stream, 'close');
    }
    const watched = client.request({ ':path': '/watched' });
    watched.on('error', () => undefined);
    await until('it is counted', async () => (await leftOf(app, 'hundred')) === 87);
    watched.close(8);
    await until('its end is told', () => outcomes.length === 1);
    expect(outcomes).toEqual(['abandoned']);
    await until('it is settled', async () => (await leftOf(app, 'hundred')) === 97);
    // One that is read to its end succeeds.
    const others = waiting.length;
    const whole = client.request({ ':path': '/watched' });
    whole.resume();
    await until('it hangs', () => waiting.length > others);
    for (const release of waiting.splice(0)) release();
    await once(whole, 'end');
    await until('its end is told', () => outcomes.length === 2);
    expect(outcomes[1]).toBe('success');
  } finally {
    client.destroy();
    await app.close();
  }
});
