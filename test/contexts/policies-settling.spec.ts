import { describe, expect, test } from '@jest/globals';
import { Controller, ForbiddenException, UseGuards } from '@nestjs/common';
import { Args, Mutation, Query, Resolver, Subscription } from '@nestjs/graphql';
import { GrpcMethod, GrpcStreamMethod } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { Test } from '@nestjs/testing';
import { createClient } from 'graphql-ws';
import { RateLimitGuard } from 'nestjs-valkey-rate-limit';
import { concat, concatMap, NEVER, type Observable, of, throwError } from 'rxjs';
import { WebSocket } from 'ws';
import { until } from '../../tools/until.js';
import { adapters } from '../support/app.js';
import { Limit, little, type LooseOptions } from '../support/little.js';
import { ask, startGraphQL } from './support/graphql.js';
import { freeAddress, shop, ShopClient } from './support/grpc.js';
import { clock, Faults } from './support/limits.js';
import { ended } from './support/microservices.js';
import {
  asTold,
  decide,
  eight,
  fault,
  goOn,
  handling,
  ifSuccess,
  last,
  leftIs,
  leftOf,
  outcomes,
  real,
  stores,
} from './support/settling.js';
import { connect, socketLibraries, startGateways } from './support/sockets.js';

const policies = { success: eight, told: eight };

@Resolver()
class Fields {
  @Query(() => String)
  nothing(): string {
    return '';
  }

  @Mutation(() => String, { nullable: true })
  @Limit('told', asTold)
  logIn(@Args('ok') ok: boolean): string {
    return decide(ok);
  }

  @Query(() => String, { nullable: true })
  @Limit('success', ifSuccess)
  status(@Args('ok') ok: boolean): string {
    return decide(ok);
  }

  @Subscription(() => String)
  @Limit('told', asTold)
  async *events(): AsyncGenerator<object> {
    yield { events: 'one' };
    yield { events: 'two' };
  }

  @Subscription(() => String)
  @Limit('told', asTold)
  broken(): AsyncGenerator<object> {
    throw new ForbiddenException('as the test wants');
  }
}

describe.each(adapters)('GraphQL on %s', (adapter) => {
  const start = (options: LooseOptions = {}) =>
    startGraphQL(adapter, { policies, clock, ...options }, [Fields], {
      graphql: { subscriptions: { 'graphql-ws': true } },
    });

  test.each(stores)('%s: fields of one request are settled each by itself', async (_, where) => {
    const { app, ...rest } = await start(where());
    await ask({ app, ...rest }, '{ a: status(ok: true) b: status(ok: false) c: status(ok: true) }');
    await leftIs(app, 'success', 7);
    await ask({ app, ...rest }, 'mutation { a: logIn(ok: true) b: logIn(ok: false) }');
    await leftIs(app, 'told', 8);
    expect(outcomes).toMatchObject([
      { result: 'success', body: { ok: true } },
      { result: 'failure', body: { ok: false }, error: { message: 'as the test wants' } },
    ]);
  });

  test.each(stores)(
    '%s: a subscription is settled when it has begun, or was refused to',
    async (_, where) => {
      const { app, url } = await start(where());
      const client = createClient({ url: `${url.replace('http', 'ws')}/graphql`, webSocketImpl: WebSocket });
      const all: unknown[] = [];
      for await (const { data } of client.iterate({ query: 'subscription { events }' })) all.push(data);
      expect(all).toEqual([{ events: 'one' }, { events: 'two' }]);
      await leftIs(app, 'told', 8);
      const broken = async () => {
        for await (const result of client.iterate({ query: 'subscription { broken }' })) all.push(result);
      };
      await broken().catch(() => undefined);
      await until('it is settled', () => outcomes.length === 2);
      await client.dispose();
      expect(outcomes.map(({ result }) => result)).toEqual(['success', 'failure']);
    },
  );
});

@WebSocketGateway()
class Chat {
  @SubscribeMessage('last')
  @Limit('told', asTold)
  last() {
    return last({ event: 'answer', data: '' });
  }

  @SubscribeMessage('stream')
  @Limit('told', asTold)
  stream() {
    return concat(of({ event: 'answer', data: '' }), NEVER);
  }

  @SubscribeMessage('twice')
  @UseGuards(RateLimitGuard, RateLimitGuard)
  @Limit('told', asTold)
  @Limit('success', ifSuccess)
  twice() {
    return { event: 'answer', data: '' };
  }
}

describe.each(socketLibraries)('gateways of %s', (library) => {
  const start = (options: LooseOptions = {}) =>
    startGateways(library, { policies, clock, ...options }, [Chat], { module: new Faults().install });

  test.each(stores)(
    '%s: a client that goes away in the middle has abandoned its stream',
    async (_, where) => {
      const app = await start(where());
      real.cost = 1;
      const client = await connect(library, app);
      expect((await client.ask('stream')).event).toBe('answer');
      expect(outcomes).toEqual([]);
      client.close();
      await until('the end to be seen', () => outcomes.length === 1);
      expect(outcomes[0]!.result).toBe('abandoned');
      expect(await leftOf(app.app, 'told')).toBe(7);
    },
  );

  test('one that goes away while a handler works is settled when it has ended, and once', async () => {
    const app = await start();
    const client = await connect(library, app);
    void client.ask('last');
    await until('the handler to run', () => handling.now === 1);
    expect(await leftOf(app.app, 'told')).toBe(7);
    client.close();
    goOn();
    await leftIs(app.app, 'told', 8);
    expect(outcomes).toHaveLength(1);
  });

  test('guards that are bound again settle once', async () => {
    const app = await start();
    real.cost = 2;
    await (await connect(library, app)).ask('twice');
    await leftIs(app.app, 'told', 6);
    await leftIs(app.app, 'success', 8);
    expect(outcomes).toHaveLength(1);
  });
});

@Controller()
class Calls {
  @GrpcMethod('Orders', 'Watch')
  @Limit('told', asTold)
  watch({ what }: { what: string }): Observable<object> {
    const first = of({ text: 'one' }, { text: 'two' });
    if (what === 'breaks') return concat(first, throwError(fault));
    return what === 'hangs' ? concat(first, NEVER) : first;
  }

  @GrpcStreamMethod('Orders', 'Talk')
  @Limit('told', asTold)
  talk(wishes: Observable<{ what: string }>): Observable<object> {
    return wishes.pipe(
      concatMap(({ what }) => {
        return what === 'breaks' ? throwError(fault) : of({ text: what });
      }),
    );
  }
}

describe.each(['Watch', 'Talk'] as const)('a stream of gRPC, %s,', (method) => {
  const start = async (options: LooseOptions = {}) => {
    const root = little({ limits: { policies, clock, ...options }, controllers: [Calls] });
    const compiled = await new Faults().install(Test.createTestingModule({ imports: [root] })).compile();
    const address = await freeAddress();
    const app = ended(compiled.createNestMicroservice(shop(address)));
    await app.listen();
    return { app, client: new ShopClient(address) };
  };

  test.each(stores)('%s: is settled when it has ended, and once', async (_, where) => {
    const { app, client } = await start(where());
    expect((await client.hear(method, 'ends')).error).toBeUndefined();
    await leftIs(app, 'told', 8);
    expect((await client.hear(method, 'breaks')).error).toBeDefined();
    await leftIs(app, 'told', 8);
    await until('both are settled', () => outcomes.length === 2);
    expect(outcomes.map(({ result }) => result)).toEqual(['success', 'failure']);
  });

  test('is abandoned by a client that cancels it', async () => {
    const { app, client } = await start();
    const call = client.begin(method, 'hangs');
    call.on('error', () => undefined);
    await new Promise((resolve) => call.once('data', resolve));
    expect([await leftOf(app, 'told'), outcomes.length]).toEqual([7, 0]);
    call.cancel();
    await leftIs(app, 'told', 8);
    // What a client streams ends when it cancels, and what is made of that with it.
    expect(outcomes.map(({ result }) => result)).toEqual([method === 'Watch' ? 'abandoned' : 'success']);
  });
});
