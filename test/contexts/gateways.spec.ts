import { describe, expect, test } from '@jest/globals';
import { type CanActivate, type ExecutionContext, Injectable, UseGuards } from '@nestjs/common';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import type { IncomingMessage } from 'node:http';
import { key, RateLimiter, RateLimitGuard } from 'nestjs-valkey-rate-limit';
import { Limit, little, type LooseOptions, Skip } from '../support/little.js';
import { refusal } from '../support/refusal.js';
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
import { connect, socketLibraries, startGateways } from './support/sockets.js';

const policies = {
  ...common,
  room: { ...two, key: key.join(key.ip(), key.body('room')) },
} satisfies LooseOptions['policies'];

/** Believes what a message says, as a test may. */
@Injectable()
class LogIn implements CanActivate {
  canActivate(execution: ExecutionContext): boolean {
    const [client, data] = execution.getArgs<[{ user?: unknown }, { as: string }]>();
    client.user = { id: data.as };
    return true;
  }
}

const answer = (data: unknown) => ({ event: 'answer', data });

@WebSocketGateway()
class Chat {
  @SubscribeMessage('say')
  @Limit('two')
  say(@MessageBody() text: string) {
    return answer(text);
  }

  @SubscribeMessage('both')
  @Limit('two', 'other')
  both() {
    return answer('both');
  }

  @SubscribeMessage('other')
  @Limit('other')
  other() {
    return answer('other');
  }

  @SubscribeMessage('free')
  free() {
    return answer('free');
  }

  @SubscribeMessage('enter')
  @Limit('room')
  enter(@MessageBody() { room }: { room: string }) {
    return answer(room);
  }

  @SubscribeMessage('closed')
  @Limit('closed')
  closed() {
    return answer('');
  }

  @SubscribeMessage('look')
  @Limit('looked')
  look() {
    return answer('');
  }

  @SubscribeMessage('mine')
  @UseGuards(LogIn)
  @Limit('user')
  mine() {
    return answer('mine');
  }

  @SubscribeMessage('twice')
  @UseGuards(RateLimitGuard, RateLimitGuard)
  @Limit('two')
  twice() {
    return answer('twice');
  }

  /** Keeps the request that a client of ws has opened its connection with. */
  handleConnection(client: object, request?: IncomingMessage): void {
    if (request !== undefined) Object.assign(client, { request });
  }
}

describe.each(socketLibraries)('gateways of %s', (library) => {
  const start = (options: LooseOptions = {}, faults?: Faults) =>
    startGateways(library, { policies, clock, ...options }, [Chat], faults && { module: faults.install });

  const refused = (policy: string) => ({ event: 'exception', data: denied(policy) });

  test.each([
    ['in memory', () => ({})],
    ['on Valkey', onValkey],
  ])(
    '%s: a message above the limit is an exception with all members, and nothing is logged',
    async (_, where) => {
      const faults = new Faults();
      const client = await connect(library, await start(where(), faults));
      expect(await client.ask('say', 'a')).toEqual(answer('a'));
      expect(await client.ask('say', 'b')).toEqual(answer('b'));
      expect(await client.ask('say', 'c')).toEqual(refused('two'));
      expect(await client.ask('free')).toEqual(answer('free'));
      expect(client.isOpen()).toBe(true);
      expect(faults.lines).toEqual([]);
    },
  );

  test('several policies apply all or nothing', async () => {
    const client = await connect(library, await start());
    for (let count = 0; count < 4; count += 1) await client.ask('both');
    for (let count = 0; count < 3; count += 1) expect(await client.ask('other')).toEqual(answer('other'));
    expect(await client.ask('other')).toEqual(refused('other'));
  });

  test('keys read the data as the body', async () => {
    const client = await connect(library, await start());
    for (const room of ['a', 'a', 'b']) expect(await client.ask('enter', { room })).toEqual(answer(room));
    expect(await client.ask('enter', { room: 'a' })).toEqual(refused('room'));
  });

  test('keys see the handshake', async () => {
    const client = await connect(library, await start(), '', { 'x-client': 'me' });
    await client.ask('look', { what: 'this' });
    const [context] = seen;
    expect(context!.route).toBe('message:look');
    expect(context!.request).toMatchObject({ method: 'MESSAGE', body: { what: 'this' } });
    expect(key.ip()(context!)).toBe('127.0.0.1');
    expect(key.header('x-client')(context!)).toBe('me');
    expect(context!.request.client).toBe(context!.execution.switchToWs().getClient());
  });

  test('users are counted behind the guards that know them', async () => {
    const client = await connect(library, await start({ authentication: 'guards' }));
    for (const as of ['ada', 'ada', 'eve']) expect(await client.ask('mine', { as })).toEqual(answer('mine'));
    expect(await client.ask('mine', { as: 'ada' })).toEqual(refused('user'));
  });

  test('a guard that is bound again counts once', async () => {
    const client = await connect(library, await start());
    for (let count = 0; count < 2; count += 1) expect(await client.ask('twice')).toEqual(answer('twice'));
    expect(await client.ask('twice')).toEqual(refused('two'));
  });

  test('everyRoute is for HTTP only', async () => {
    const client = await connect(library, await start({ everyRoute: ['two'] }));
    for (let count = 0; count < 4; count += 1) expect(await client.ask('free')).toEqual(answer('free'));
  });

  test('a closed policy that cannot be decided is unavailable', async () => {
    const client = await connect(library, await start(onNothing, new Faults()));
    expect(await client.ask('closed')).toEqual({ event: 'exception', data: unavailable('closed') });
  });

  test('what `problem` makes is told instead', async () => {
    const client = await connect(library, await start({ problem: () => ({ error: 'slow down' }) }));
    for (let count = 0; count < 2; count += 1) await client.ask('say');
    const { data } = await client.ask('say');
    expect(data).toEqual({ error: 'slow down', code: 'RATE_LIMITED', retryAfter: 20 });
  });
});

describe('the class of a gateway', () => {
  @Limit('two')
  @WebSocketGateway({ namespace: 'chat' })
  class InNamespace {
    @SubscribeMessage('say')
    say() {
      return answer('');
    }

    @SubscribeMessage('shout')
    shout() {
      return answer('');
    }

    @SubscribeMessage('free')
    @Skip()
    free() {
      return answer('');
    }
  }

  test('limits its messages together, but for those that skip it', async () => {
    const app = await startGateways('socket.io', { policies, clock }, [InNamespace]);
    const client = await connect('socket.io', app, '/chat');
    expect(await client.ask('say')).toEqual(answer(''));
    expect(await client.ask('shout')).toEqual(answer(''));
    expect(await client.ask('say')).toEqual({ event: 'exception', data: denied('two') });
    expect(await client.ask('free')).toEqual(answer(''));
  });

  test('is told apart from others by its namespace', async () => {
    const app = await startGateways('socket.io', { policies, clock }, [InNamespace]);
    expect(app.app.get(RateLimiter).describe()).toMatchObject([
      { route: 'message namespace=chat:say', handler: 'InNamespace.say' },
      { route: 'message namespace=chat:shout', handler: 'InNamespace.shout' },
    ]);
  });
});

test('@RateLimit is refused at boot on a method that gets no messages', async () => {
  @WebSocketGateway()
  class Chatty {
    @SubscribeMessage('say')
    say(): void {}

    @Limit('two')
    helper(): void {}
  }
  const error = await refusal(little({ limits: { policies }, providers: [Chatty] }));
  expect(error).toMatchObject({ code: 'NOT_A_ROUTE', where: 'Chatty.helper' });
});
