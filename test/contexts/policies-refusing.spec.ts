import { describe, expect, test } from '@jest/globals';
import { Controller } from '@nestjs/common';
import { Args, Mutation, Query, Resolver, Subscription } from '@nestjs/graphql';
import { GrpcMethod, MessagePattern } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { status } from '@grpc/grpc-js';
import { createClient } from 'graphql-ws';
import { type Decision, key, type RateLimitContext, RateLimiter, when } from 'nestjs-valkey-rate-limit';
import { WebSocket } from 'ws';
import { adapters } from '../support/app.js';
import { Limit, type LooseOptions } from '../support/little.js';
import { startGraphQL } from './support/graphql.js';
import { type Handlers, kinds } from './support/kinds.js';
import { clock, denied, two } from './support/limits.js';
import { leftOf, stores } from './support/settling.js';

/** What a client says who it is. */
const who = ({ request }: RateLimitContext) => {
  const { how, what } = request.body as { how?: string; what?: string };
  return how ?? what;
};

const ofAll = { ...two, key: () => 'all' };

const policies: LooseOptions['policies'] = {
  network: { ...ofAll, deny: when.network('127.0.0.0/8') },
  office: { ...ofAll, limit: 0, skip: when.network('127.0.0.1/32', '::1/128') },
  listed: { ...ofAll, skip: when.key(who, ['ada']), deny: async (context) => who(context) === 'eve' },
  other: { ...ofAll, limit: 20 },
  penalty: { ...ofAll, penalty: { after: 3, block: '15m' } },
  shadow: { ...ofAll, mode: 'shadow', deny: when.key(who, ['eve']) },
};

@Resolver()
class Fields {
  @Query(() => String)
  @Limit('network', 'other')
  network(@Args('how') how: string) {
    return how;
  }

  @Mutation(() => String)
  failure(@Args('how') how: string) {
    return how;
  }

  @Query(() => String)
  @Limit('listed', 'office', 'other')
  listed(@Args('how') how: string) {
    return how;
  }

  @Query(() => String)
  @Limit('penalty')
  penalty(@Args('how') how: string) {
    return how;
  }

  @Query(() => String)
  @Limit('shadow', 'other')
  shadow(@Args('how') how: string) {
    return how;
  }
}

const answer = { event: 'answer', data: '' };

@WebSocketGateway()
class Messages {
  @SubscribeMessage('network')
  @Limit('network', 'other')
  network() {
    return answer;
  }

  @SubscribeMessage('listed')
  @Limit('listed', 'office', 'other')
  listed() {
    return answer;
  }

  @SubscribeMessage('penalty')
  @Limit('penalty')
  penalty() {
    return answer;
  }

  @SubscribeMessage('shadow')
  @Limit('shadow', 'other')
  shadow() {
    return answer;
  }
}

@Controller()
class Patterns {
  @MessagePattern('network')
  @Limit('network', 'other')
  network(): string {
    return '';
  }

  @MessagePattern('listed')
  @Limit('listed', 'office', 'other')
  listed(): string {
    return '';
  }

  @MessagePattern('penalty')
  @Limit('penalty')
  penalty(): string {
    return '';
  }

  @MessagePattern('shadow')
  @Limit('shadow', 'other')
  shadow(): string {
    return '';
  }
}

const nothing = { text: '' };

@Controller()
class Calls {
  @GrpcMethod('Orders', 'Order')
  @Limit('network', 'other')
  network() {
    return nothing;
  }

  @GrpcMethod('Orders', 'Closed')
  @Limit('listed', 'office', 'other')
  listed() {
    return nothing;
  }

  @GrpcMethod('Orders', 'Huge')
  @Limit('penalty')
  penalty() {
    return nothing;
  }

  @GrpcMethod('Orders', 'Free')
  @Limit('shadow', 'other')
  shadow() {
    return nothing;
  }
}

const handlers: Handlers = {
  resolvers: [Fields],
  gateways: [Messages],
  messages: [Patterns],
  calls: [Calls],
};

describe.each(kinds)('%s', (name, start) => {
  const isGrpc = name.includes('gRPC');
  const boot = (where: () => LooseOptions) => start({ policies, clock, ...where() }, handlers);
  const forbidden = (policy: string) =>
    isGrpc
      ? { code: status.PERMISSION_DENIED, detail: expect.stringContaining(`"${policy}"`) }
      : { code: 'FORBIDDEN', status: 403, detail: expect.stringContaining(`"${policy}"`) };
  const exceeded = (policy: string) =>
    isGrpc
      ? { code: status.RESOURCE_EXHAUSTED, detail: denied(policy).detail, retryAfter: '20' }
      : denied(policy);
  const blocked = {
    ...denied('penalty'),
    type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
    title: 'Request not satisfied due to detection of abnormal request pattern',
    detail: 'The limit "penalty" is exceeded, again and again. Try again in 900 seconds.',
    retryAfter: 900,
  };

  test.each(stores)(
    '%s: whoever is denied by its network is not let in, and not counted',
    async (_, where) => {
      const { call, left, faults } = await boot(where);
      for (let count = 0; count < 3; count += 1)
        expect(await call('network')).toMatchObject(forbidden('network'));
      expect([await left('network'), await left('other')]).toEqual([2, 20]);
      expect(faults.lines).toEqual([]);
    },
  );

  test.each(stores)('%s: lists of keys and functions skip some, and deny others', async (_, where) => {
    const { call, left } = await boot(where);
    for (let count = 0; count < 3; count += 1) expect(await call('listed', 'ada')).toBeUndefined();
    expect([await left('listed'), await left('other')]).toEqual([2, 17]);
    for (let count = 0; count < 2; count += 1) expect(await call('listed', 'bob')).toBeUndefined();
    expect(await call('listed', 'bob')).toEqual(exceeded('listed'));
    expect(await call('listed', 'eve')).toMatchObject(forbidden('listed'));
    expect(await call('listed', 'ada')).toBeUndefined();
    expect([await left('listed'), await left('other')]).toEqual([0, 14]);
  });

  test.each(stores)('%s: the third refusal of a row blocks', async (_, where) => {
    const { call } = await boot(where);
    for (let count = 0; count < 2; count += 1) expect(await call('penalty')).toBeUndefined();
    for (let count = 0; count < 2; count += 1) expect(await call('penalty')).toEqual(exceeded('penalty'));
    for (let count = 0; count < 2; count += 1) {
      expect(await call('penalty')).toEqual(
        isGrpc ? { code: status.RESOURCE_EXHAUSTED, detail: blocked.detail, retryAfter: '900' } : blocked,
      );
    }
  });

  test.each(stores)('%s: in shadow nobody is refused, and what would have been is told', async (_, where) => {
    const { call, left, limiter } = await boot(where);
    const told: Decision[] = [];
    limiter.decisions$.subscribe((decision) => told.push(decision));
    for (const how of ['ada', 'ada', 'ada', 'eve']) expect(await call('shadow', how)).toBeUndefined();
    expect(await left('other')).toBe(16);
    const said = told
      .filter(({ policy }) => policy === 'shadow')
      .map((decision) => [decision.outcome, 'shadow' in decision ? decision.shadow : undefined]);
    expect(said).toMatchObject([
      ['allowed', { outcome: 'allowed' }],
      ['allowed', { outcome: 'allowed' }],
      ['allowed', { outcome: 'denied', retryAfterMs: 20_000 }],
      ['forbidden', true],
    ]);
  });

  test('the address of a client is that of its connection', async () => {
    const seen: unknown[] = [];
    const address = (context: RateLimitContext) => {
      seen.push(key.ip()(context));
      return false;
    };
    const { call } = await start(
      { clock, policies: { ...policies, network: { ...ofAll, deny: address } } },
      handlers,
    );
    expect(await call('network')).toBeUndefined();
    expect(seen).toEqual(['127.0.0.1']);
  });
});

async function* once(field: string, said = 'event'): AsyncGenerator<object> {
  yield { [field]: said };
}

@Resolver()
class Events {
  @Query(() => String)
  nothing(): string {
    return '';
  }

  @Subscription(() => String)
  @Limit('network', 'other')
  network() {
    return once('network');
  }

  @Subscription(() => String)
  @Limit('listed', 'office', 'other')
  listed(@Args('how') how: string) {
    return once('listed', how);
  }

  @Subscription(() => String)
  @Limit('penalty')
  penalty() {
    return once('penalty');
  }

  @Subscription(() => String)
  @Limit('shadow', 'other')
  shadow(@Args('how') how: string) {
    return once('shadow', how);
  }
}

describe.each(adapters)('subscriptions on %s', (adapter) => {
  test.each(stores)('%s: are denied, skipped, blocked and let pass in shadow', async (_, where) => {
    const limits = { policies, clock, ...where() };
    const graphql = { subscriptions: { 'graphql-ws': true } };
    const { app, url } = await startGraphQL(adapter, limits, [Events], { graphql });
    const client = createClient({ url: `${url.replace('http', 'ws')}/graphql`, webSocketImpl: WebSocket });
    /** The extensions of the first error, or the data of all events. */
    const hear = async (field: string) => {
      const all: unknown[] = [];
      try {
        for await (const { data, errors } of client.iterate({ query: `subscription { ${field} }` })) {
          all.push(errors?.[0]?.extensions ?? data);
        }
        return all;
      } catch (errors) {
        return (errors as { extensions: unknown }[]).map(({ extensions }) => extensions);
      }
    };
    const wouldHave: (string | undefined)[] = [];
    app.get(RateLimiter).decisions$.subscribe((decision) => {
      if (decision.outcome !== 'allowed' || decision.policy !== 'shadow') return;
      wouldHave.push(decision.shadow?.outcome);
    });
    expect(await hear('network')).toMatchObject([{ code: 'FORBIDDEN', status: 403 }]);
    expect(await leftOf(app, 'other')).toBe(20);
    for (let count = 0; count < 3; count += 1) {
      expect(await hear('listed(how: "ada")')).toEqual([{ listed: 'ada' }]);
    }
    expect(await hear('listed(how: "eve")')).toMatchObject([{ code: 'FORBIDDEN', status: 403 }]);
    for (let count = 0; count < 2; count += 1) expect(await hear('penalty')).toEqual([{ penalty: 'event' }]);
    for (let count = 0; count < 2; count += 1) expect(await hear('penalty')).toEqual([denied('penalty')]);
    expect(await hear('penalty')).toMatchObject([
      { code: 'RATE_LIMITED', type: expect.stringMatching(/#abnormal-usage-detected$/), retryAfter: 900 },
    ]);
    for (const how of ['ada', 'ada', 'ada', 'eve']) {
      expect(await hear(`shadow(how: "${how}")`)).toEqual([{ shadow: how }]);
    }
    expect(wouldHave).toEqual(['allowed', 'allowed', 'denied']);
    await client.dispose();
  });
});
