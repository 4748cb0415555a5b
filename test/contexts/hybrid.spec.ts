import { beforeEach, describe, expect, test } from '@jest/globals';
import { Controller, type DynamicModule, Get, Scope, UseGuards } from '@nestjs/common';
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { until } from '../../tools/until.js';
import { Limit, little, type LooseOptions } from '../support/little.js';
import { clock, denied, onValkey, policies, two } from './support/limits.js';
import { ended, LogIn, tcp, TcpClient } from './support/microservices.js';
import { connect } from './support/sockets.js';

let happened: unknown[] = [];
beforeEach(() => void (happened = []));

@Controller('orders')
class Orders {
  @Get()
  @Limit('two')
  list(): string {
    return 'listed';
  }

  @MessagePattern('order')
  @Limit('two')
  order(): string {
    return 'ordered';
  }

  @Get('either')
  @MessagePattern('either')
  @Limit('two')
  either(): string {
    return 'either';
  }

  @MessagePattern('mine')
  @UseGuards(LogIn)
  @Limit('user')
  mine(): string {
    return 'mine';
  }

  @EventPattern('happened')
  @Limit('two')
  happen(@Payload() what: unknown): void {
    happened.push(what);
  }

  @MessagePattern('free')
  free(): string {
    return 'free';
  }
}

@Controller('stock')
@Limit('two')
class Stock {
  @Get()
  list(): string {
    return 'listed';
  }

  @MessagePattern('count')
  count(): string {
    return 'counted';
  }
}

@Controller({ path: 'scoped', scope: Scope.REQUEST })
class Scoped {
  @MessagePattern('scoped')
  @Limit('two')
  scoped(): string {
    return 'scoped';
  }
}

@WebSocketGateway()
class Chat {
  @SubscribeMessage('say')
  @Limit('two')
  say() {
    return { event: 'said', data: '' };
  }
}

const root = (options: LooseOptions = {}): DynamicModule => {
  const limits = { policies, clock, ...options };
  return little({ limits, controllers: [Orders, Stock, Scoped], providers: [Chat] });
};

async function create(rootModule: DynamicModule): Promise<NestFastifyApplication> {
  const compiled = await Test.createTestingModule({ imports: [rootModule] }).compile();
  const app = compiled.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
  return ended(app.useWebSocketAdapter(new IoAdapter(app)));
}

interface Hybrid {
  readonly client: TcpClient;
  readonly url: string;
  status(path: string): Promise<number>;
}

/** In the order in which Nest's documentation does it. */
async function start(rootModule: DynamicModule, inheritAppConfig: boolean): Promise<Hybrid> {
  const app = await create(rootModule);
  const service = app.connectMicroservice(tcp, { inheritAppConfig });
  await app.startAllMicroservices();
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  return {
    client: await TcpClient.of(service),
    url,
    status: async (path) => (await fetch(`${url}${path}`)).status,
  };
}

describe.each([true, false])('a hybrid application with inheritAppConfig %j', (inherits) => {
  test.each([
    ['in memory', () => ({})],
    ['on Valkey', onValkey],
  ])('%s: messages are limited, each counted once', async (_, where) => {
    const { client } = await start(root(where()), inherits);
    expect([await client.ask('order'), await client.ask('order')]).toEqual(['ordered', 'ordered']);
    expect(await client.ask('order')).toEqual(denied('two'));
    expect(await client.ask('free')).toBe('free');
  });

  test('events above the limit are not handled', async () => {
    const { client } = await start(root(), inherits);
    for (const what of ['a', 'b', 'c']) await client.tell('happened', what);
    await until('they were handled', () => happened.length >= 2);
    expect(await client.ask('free')).toBe('free');
    expect(happened).toEqual(['a', 'b']);
  });

  test('a policy of the class is for HTTP and messages together', async () => {
    const { client, status } = await start(root(), inherits);
    expect([await status('/stock'), await client.ask('count')]).toEqual([200, 'counted']);
    expect([await status('/stock'), await client.ask('count')]).toEqual([429, denied('two')]);
  });

  test('a controller that is made for each message is limited across messages', async () => {
    const { client } = await start(root(), inherits);
    expect([await client.ask('scoped'), await client.ask('scoped')]).toEqual(['scoped', 'scoped']);
    expect(await client.ask('scoped')).toEqual(denied('two'));
  });

  test('a handler of both is limited for both', async () => {
    const { client, status } = await start(root(), inherits);
    expect([await client.ask('either'), await status('/orders/either')]).toEqual(['either', 200]);
    expect([await client.ask('either'), await status('/orders/either')]).toEqual([denied('two'), 429]);
  });

  test('users are counted behind the guards that know them', async () => {
    const { client } = await start(root({ authentication: 'guards' }), inherits);
    for (const as of ['ada', 'ada', 'eve']) expect(await client.ask('mine', { as })).toBe('mine');
    expect(await client.ask('mine', { as: 'ada' })).toEqual(denied('user'));
  });

  test('gateways are limited beside', async () => {
    const { url } = await start(root(), inherits);
    const client = await connect('socket.io', { url } as Parameters<typeof connect>[1]);
    for (let count = 0; count < 2; count += 1) expect((await client.ask('say')).event).toBe('said');
    expect(await client.ask('say')).toEqual({ event: 'exception', data: denied('two') });
  });

  test('messages are limited before the application is initialised', async () => {
    const app = await create(root());
    const service = app.connectMicroservice(tcp, { inheritAppConfig: inherits });
    await app.startAllMicroservices();
    const client = await TcpClient.of(service);
    const answers = await Promise.all(Array.from({ length: 4 }, () => client.ask('order')));
    expect(answers.filter((answer) => answer === 'ordered')).toHaveLength(2);
    await app.init();
    expect(await client.ask('order')).toEqual(denied('two'));
  });

  test('applications that share controllers have limits of their own, or none', async () => {
    const limited = await start(root(), inherits);
    const other = await start(root({ policies: { ...policies, two: { ...two, limit: 1 } } }), inherits);
    const free = await start(little({ controllers: [Orders, Stock] }), inherits);
    expect([await limited.client.ask('order'), await other.client.ask('order')]).toEqual([
      'ordered',
      'ordered',
    ]);
    expect([await limited.client.ask('order'), await other.client.ask('order')]).toEqual([
      'ordered',
      denied('two'),
    ]);
    expect(await limited.client.ask('order')).toEqual(denied('two'));
    for (let count = 0; count < 4; count += 1) expect(await free.client.ask('order')).toBe('ordered');
  });
});
