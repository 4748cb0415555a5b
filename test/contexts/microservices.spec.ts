import { beforeEach, describe, expect, test } from '@jest/globals';
import { Controller, Get, UseGuards } from '@nestjs/common';
import {
  type CustomTransportStrategy,
  EventPattern,
  MessagePattern,
  NatsContext,
  Payload,
  Server,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { firstValueFrom, type Observable } from 'rxjs';
import { key, RateLimiter, RateLimitGuard } from 'nestjs-valkey-rate-limit';
import { until } from '../../tools/until.js';
import { Limit, little, type LooseOptions, Skip } from '../support/little.js';
import {
  clock,
  denied,
  Faults,
  onNothing,
  onValkey,
  policies as common,
  seen,
  two,
  unavailable,
} from './support/limits.js';
import { ended, LogIn, startMicroservice, TcpClient } from './support/microservices.js';

let happened: unknown[] = [];
beforeEach(() => void (happened = []));

const policies = {
  ...common,
  room: { ...two, key: key.join(key.ip(), key.body('room')) },
} satisfies LooseOptions['policies'];

@Controller()
class Orders {
  @MessagePattern('order')
  @Limit('two')
  order(@Payload() what: string): string {
    return what;
  }

  @MessagePattern({ cmd: 'both', a: 1 })
  @Limit('two', 'other')
  both(): string {
    return 'both';
  }

  @MessagePattern('other')
  @Limit('other')
  other(): string {
    return 'other';
  }

  @MessagePattern('free')
  free(): unknown[] {
    return happened;
  }

  @EventPattern('happened')
  @Limit('two')
  happen(@Payload() what: unknown): void {
    happened.push(what);
  }

  @MessagePattern('enter')
  @Limit('room')
  enter(@Payload() { room }: { room: string }): string {
    return room;
  }

  @MessagePattern('closed')
  @Limit('closed')
  closed(): string {
    return '';
  }

  @MessagePattern('look')
  @Limit('looked')
  look(): string {
    return '';
  }

  @MessagePattern('mine')
  @UseGuards(LogIn)
  @Limit('user')
  mine(): string {
    return 'mine';
  }

  @MessagePattern('twice')
  @UseGuards(RateLimitGuard, RateLimitGuard)
  @Limit('two')
  twice(): string {
    return 'twice';
  }
}

@Controller('stock')
@Limit('two')
class Stock {
  @MessagePattern('count')
  count(): string {
    return 'counted';
  }

  @Get()
  list(): string {
    return 'listed';
  }

  @MessagePattern('skipped')
  @Skip()
  skipped(): string {
    return 'skipped';
  }
}

describe('a microservice alone', () => {
  const start = async (options: LooseOptions = {}, faults?: Faults) => {
    const limits = { policies, clock, ...options };
    return startMicroservice({ limits, controllers: [Orders, Stock] }, faults);
  };
  const connect = async (options?: LooseOptions, faults?: Faults) =>
    TcpClient.of(await start(options, faults));

  test.each([
    ['in memory', () => ({})],
    ['on Valkey', onValkey],
  ])('%s: a message above the limit is refused with all members, and nothing is logged', async (_, where) => {
    const faults = new Faults();
    const client = await connect(where(), faults);
    expect(await client.ask('order', 'a cup')).toBe('a cup');
    expect(await client.ask('order', 'a mug')).toBe('a mug');
    expect(await client.ask('order', 'a pot')).toEqual(denied('two'));
    expect(await client.ask('free')).toEqual([]);
    expect(faults.lines).toEqual([]);
  });

  test('an event above the limit is not handled, and nothing is logged', async () => {
    const faults = new Faults();
    const client = await connect({}, faults);
    for (const what of ['a', 'b', 'c', 'd']) await client.tell('happened', what);
    await until('they were handled', () => happened.length >= 2);
    expect(await client.ask('free')).toEqual(['a', 'b']);
    expect(faults.lines).toEqual([]);
  });

  test('several policies apply all or nothing', async () => {
    const client = await connect();
    for (let count = 0; count < 4; count += 1) await client.ask({ a: 1, cmd: 'both' });
    for (let count = 0; count < 3; count += 1) expect(await client.ask('other')).toBe('other');
    expect(await client.ask('other')).toEqual(denied('other'));
  });

  test('a policy of the class is for all its handlers together, but for those that skip it', async () => {
    const client = await connect();
    expect([await client.ask('count'), await client.ask('count')]).toEqual(['counted', 'counted']);
    expect(await client.ask('count')).toEqual(denied('two'));
    expect(await client.ask('skipped')).toBe('skipped');
  });

  test('keys read the data as the body', async () => {
    const client = await connect();
    for (const room of ['a', 'a', 'b']) expect(await client.ask('enter', { room })).toBe(room);
    expect(await client.ask('enter', { room: 'a' })).toEqual(denied('room'));
  });

  test('keys see the connection, and never take the user from what was sent', async () => {
    const client = await connect();
    await client.ask('look', { what: 'this', user: { id: 'root' } });
    const [context] = seen;
    expect(context!.route).toBe('pattern:look');
    expect(context!.request).toMatchObject({ method: 'PATTERN', body: { what: 'this' }, headers: {} });
    expect(key.ip()(context!)).toBe('127.0.0.1');
    expect(key.user()(context!)).toBeUndefined();
    expect(context!.request.context).toBe(context!.execution.switchToRpc().getContext());
  });

  test('users are counted behind the guards that know them', async () => {
    const client = await connect({ authentication: 'guards' });
    for (const as of ['ada', 'ada', 'eve']) expect(await client.ask('mine', { as })).toBe('mine');
    expect(await client.ask('mine', { as: 'ada' })).toEqual(denied('user'));
  });

  test('a guard that is bound again counts once', async () => {
    const client = await connect();
    expect([await client.ask('twice'), await client.ask('twice')]).toEqual(['twice', 'twice']);
    expect(await client.ask('twice')).toEqual(denied('two'));
  });

  test('everyRoute is for HTTP only', async () => {
    const client = await connect({ everyRoute: ['two'] });
    for (let count = 0; count < 4; count += 1) expect(await client.ask('free')).toEqual([]);
  });

  test('a closed policy that cannot be decided is unavailable', async () => {
    const client = await connect(onNothing, new Faults());
    expect(await client.ask('closed')).toEqual(unavailable('closed'));
  });

  test('what `problem` makes is told instead', async () => {
    const client = await connect({ problem: () => ({ error: 'slow down' }) });
    for (let count = 0; count < 2; count += 1) await client.ask('order');
    expect(await client.ask('order')).toEqual({ error: 'slow down', code: 'RATE_LIMITED', retryAfter: 20 });
  });

  test('a route is called what clients ask for', async () => {
    const service = await start();
    const routes = service.get(RateLimiter).describe();
    expect(routes.map(({ route, handler }) => [route, handler])).toEqual(
      expect.arrayContaining([
        ['pattern order', 'Orders.order'],
        ['pattern {"a":1,"cmd":"both"}', 'Orders.both'],
        ['pattern count', 'Stock.count'],
        ['GET /stock', 'Stock.list'],
      ]),
    );
  });
});

/** A transport of the application's own, which hands over what it is told to. */
class OwnTransport extends Server implements CustomTransportStrategy {
  listen(ready: () => void): void {
    ready();
  }

  close(): void {}

  on(): void {}

  unwrap<Of>(): Of {
    return this as unknown as Of;
  }

  /** A message with the headers of NATS, which can be iterated. */
  async receive(pattern: string, headers: [string, string][]): Promise<unknown> {
    const context = new NatsContext([pattern, new Map(headers)]);
    const answer = await this.getHandlerByPattern(pattern)!({}, context);
    return firstValueFrom(this.transformToObservable(answer) as Observable<unknown>);
  }
}

test('keys read the headers of a transport that has some, and count clients without an address together', async () => {
  const strategy = new OwnTransport();
  const root = little({ limits: { policies, clock }, controllers: [Orders] });
  const compiled = await Test.createTestingModule({ imports: [root] }).compile();
  await ended(compiled.createNestMicroservice({ strategy })).listen();
  expect(await strategy.receive('look', [['X-Client', 'me']])).toBe('');
  expect(key.header('x-client')(seen[0]!)).toBe('me');
  expect(key.ip()(seen[0]!)).toBeUndefined();
  await strategy.receive('enter', []);
  await strategy.receive('enter', []);
  await expect(strategy.receive('enter', [])).rejects.toEqual(denied('room'));
});
