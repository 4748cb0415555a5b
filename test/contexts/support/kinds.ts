import type { Type } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { RateLimiter } from 'nestjs-valkey-rate-limit';
import { adapters } from '../../support/app.js';
import { little, type LooseLimiter, type LooseOptions } from '../../support/little.js';
import { ask, startGraphQL } from './graphql.js';
import { freeAddress, shop, ShopClient } from './grpc.js';
import { Faults } from './limits.js';
import { ended, startMicroservice, tcp, TcpClient } from './microservices.js';
import { connect, socketLibraries, startGateways } from './sockets.js';

/** The handlers of every context that do the same: methods that take `how`, and of gRPC `what`. */
export interface Handlers {
  readonly resolvers: Type[];
  readonly gateways: Type[];
  readonly messages: Type[];
  readonly calls: Type[];
}

/** An application, and a client of its own for each call. */
export interface Started {
  readonly limiter: RateLimiter;
  readonly faults: Faults;
  /** What a client is told of a call that fails, as its context tells it; `undefined` for one that does not. */
  call(name: string, how?: string): Promise<unknown>;
  /** What is left of a policy that counts everybody together, or by another key. */
  left(policy: string, key?: string): Promise<number | undefined>;
}

export type Start = (limits: LooseOptions, handlers: Handlers) => Promise<Started>;

/** What calls are named in `shop.proto`. */
const CALLS: Readonly<Record<string, string>> = {
  success: 'Order',
  failure: 'Closed',
  told: 'Huge',
  whole: 'Free',
  network: 'Order',
  listed: 'Closed',
  penalty: 'Huge',
  shadow: 'Free',
};

function started(
  app: { get: (token: typeof RateLimiter) => RateLimiter },
  faults: Faults,
  call: Started['call'],
) {
  const limiter = app.get(RateLimiter);
  const left: Started['left'] = async (policy, key = 'all') => {
    const decision = await (limiter as unknown as LooseLimiter).peek(policy, { key });
    return 'remaining' in decision ? decision.remaining : undefined;
  };
  return { limiter, faults, call, left };
}

/** Every context, with real clients. */
export const kinds: readonly (readonly [name: string, start: Start])[] = [
  ...adapters.map((adapter): [string, Start] => [
    `GraphQL on ${adapter}`,
    async (limits, { resolvers }) => {
      const faults = new Faults();
      const app = await startGraphQL(adapter, limits, resolvers, { app: { module: faults.install } });
      return started(app.app, faults, async (name, how = 'answer') => {
        const type = name === 'failure' ? 'mutation' : 'query';
        const { errors } = await ask(app, `${type} { ${name}(how: "${how}") }`);
        return errors[0]?.extensions;
      });
    },
  ]),
  ...socketLibraries.map((library): [string, Start] => [
    `gateways of ${library}`,
    async (limits, { gateways }) => {
      const faults = new Faults();
      const app = await startGateways(library, limits, gateways, { module: faults.install });
      return started(app.app, faults, async (name, how = 'answer') => {
        const { event, data } = await (await connect(library, app)).ask(name, { how });
        return event === 'exception' ? data : undefined;
      });
    },
  ]),
  [
    'messages over TCP',
    async (limits, { messages }) => {
      const faults = new Faults();
      const service = await startMicroservice({ limits, controllers: messages }, faults);
      const client = await TcpClient.of(service);
      return started(service, faults, overTcp(client));
    },
  ],
  [
    'messages of a hybrid application that does not inherit',
    async (limits, { messages }) => {
      const faults = new Faults();
      const builder = Test.createTestingModule({ imports: [little({ limits, controllers: messages })] });
      const compiled = await faults.install(builder).compile();
      const app = ended(compiled.createNestApplication<NestFastifyApplication>(new FastifyAdapter()));
      const service = app.connectMicroservice(tcp, { inheritAppConfig: false });
      await app.startAllMicroservices();
      await app.init();
      return started(app, faults, overTcp(await TcpClient.of(service)));
    },
  ],
  [
    'calls of gRPC',
    async (limits, { calls }) => {
      const faults = new Faults();
      const builder = Test.createTestingModule({ imports: [little({ limits, controllers: calls })] });
      const address = await freeAddress();
      const compiled = await faults.install(builder).compile();
      const service = ended(compiled.createNestMicroservice(shop(address)));
      await service.listen();
      const client = new ShopClient(address);
      return started(service, faults, async (name, how = 'answer') => {
        const { error } = await client.ask(CALLS[name]!, how);
        return (
          error && {
            code: error.code,
            detail: error.details,
            retryAfter: error.metadata.get('retry-after')[0],
          }
        );
      });
    },
  ],
];

function overTcp(client: TcpClient): Started['call'] {
  return async (name, how = 'answer') => {
    const answer = await client.ask(name, { how });
    return typeof answer === 'string' ? undefined : answer;
  };
}
