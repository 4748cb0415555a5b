import { expect, test } from '@jest/globals';
import { Controller, type ExecutionContext, Get, UseGuards } from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { Query, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { key } from 'nestjs-valkey-rate-limit';
import { adapters, startApp } from '../support/app.js';
import { Limit, little } from '../support/little.js';
import { ask, graphqlModule } from './support/graphql.js';
import { clock, denied, Faults, two } from './support/limits.js';
import { tcp, TcpClient } from './support/microservices.js';
import { connect } from './support/sockets.js';

const limits = {
  policies: { five: { ...two, limit: 5, key: key.ip() } },
  everyRoute: ['five'],
  clock,
};

@Controller()
class Things {
  @Get('things')
  list(): string {
    return 'things';
  }

  @MessagePattern('things')
  @Limit('five')
  tell(): string {
    return 'things';
  }

  @MessagePattern('free')
  free(): string {
    return 'free';
  }
}

@Resolver()
class Resolved {
  @Query(() => String, { nullable: true })
  @Limit('five')
  things(): string {
    return 'things';
  }

  @Query(() => String)
  free(): string {
    return 'free';
  }
}

@WebSocketGateway()
class Messages {
  @SubscribeMessage('things')
  @Limit('five')
  things() {
    return { event: 'things', data: '' };
  }

  @SubscribeMessage('free')
  free() {
    return { event: 'free', data: '' };
  }
}

test.each(adapters)('handlers of every kind have one limit together, on %s', async (adapter) => {
  const root = little({
    limits,
    imports: [graphqlModule()],
    controllers: [Things],
    providers: [Resolved, Messages],
  });
  const faults = new Faults();
  const app = await startApp(root, adapter, {
    module: faults.install,
    app: (each) => void each.useWebSocketAdapter(new WsAdapter(each)),
  });
  const service = app.app.connectMicroservice(tcp);
  await app.app.startAllMicroservices();
  const remote = await TcpClient.of(service);
  const socket = await connect('ws', app);

  expect((await app.fetch('/things')).headers.get('ratelimit')).toBe('"five";r=4;t=20');
  expect((await ask(app, '{ things }')).headers.get('ratelimit')).toBe('"five";r=3;t=20');
  expect(await socket.ask('things')).toEqual({ event: 'things', data: '' });
  expect(await remote.ask('things')).toBe('things');
  expect((await ask(app, '{ things free }')).headers.get('ratelimit')).toBe('"five";r=0;t=20');

  const { errors } = await ask(app, '{ things }');
  expect(errors.map(({ extensions }) => extensions)).toEqual([denied('five')]);
  expect((await app.fetch('/things')).status).toBe(429);
  expect(await socket.ask('things')).toEqual({ event: 'exception', data: denied('five') });
  expect(await remote.ask('things')).toEqual(denied('five'));

  expect((await ask(app, '{ free }')).data).toEqual({ free: 'free' });
  expect(await socket.ask('free')).toEqual({ event: 'free', data: '' });
  expect(await remote.ask('free')).toBe('free');
  expect(faults.lines).toEqual([]);
  // Apollo ends Fastify before Nest ends the gateways, and waits for them.
  socket.close();
});

test('a call of a kind that nobody knows passes', async () => {
  const types: string[] = [];
  @Controller()
  @UseGuards({ canActivate: (execution: ExecutionContext) => types.push(execution.getType()) > 0 })
  class Odd {
    @Get('odd')
    odd(): string {
      return 'odd';
    }
  }
  const app = await startApp(little({ limits, controllers: [Odd] }), 'fastify');
  const odd = app.app.get(Odd);
  const all = { guards: true, interceptors: true, filters: true };
  const call = app.app
    .get(ExternalContextCreator)
    .create(odd, odd.odd.bind(odd), 'odd', undefined, undefined, undefined, undefined, all, 'telegram');
  for (let count = 0; count < 7; count += 1) expect(await call()).toBe('odd');
  expect(types).toContain('telegram');
});
