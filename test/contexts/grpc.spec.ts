import { afterEach, describe, expect, test } from '@jest/globals';
import {
  type Client,
  credentials,
  loadPackageDefinition,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { Controller, type DynamicModule } from '@nestjs/common';
import { GrpcMethod, GrpcStreamCall, GrpcStreamMethod, Transport } from '@nestjs/microservices';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { key, type RateLimitContext } from 'nestjs-valkey-rate-limit';
import { map, type Observable, of } from 'rxjs';
import { Limit, little, type LooseOptions } from '../support/little.js';
import { refusal } from '../support/refusal.js';
import { clock, denied, Faults, onNothing, onValkey, seen, two, unavailable } from './support/limits.js';
import { ended } from './support/microservices.js';

const protoPath = fileURLToPath(new URL('shop.proto', import.meta.url));

const policies = {
  two: {
    ...two,
    key: (context: RateLimitContext) => {
      seen.push(context);
      return context.request.headers['x-client'] as string;
    },
  },
  closed: { ...two, onStoreFailure: 'closed' },
} satisfies LooseOptions['policies'];

interface Wish {
  readonly what: string;
}

interface Answer {
  readonly text: string;
}

@Controller()
class Orders {
  @GrpcMethod()
  @Limit('two')
  order({ what }: Wish): Answer {
    return { text: what };
  }

  @GrpcMethod('Orders', 'Watch')
  @Limit('two')
  watch({ what }: Wish): Observable<Answer> {
    return of({ text: what }, { text: what });
  }

  @GrpcStreamMethod()
  @Limit('two')
  talk(wishes: Observable<Wish>): Observable<Answer> {
    return wishes.pipe(map(({ what }) => ({ text: what })));
  }

  @GrpcMethod()
  @Limit('closed')
  closed(): Answer {
    return { text: '' };
  }

  @GrpcMethod()
  @Limit('two', { cost: 3 })
  huge(): Answer {
    return { text: '' };
  }

  @GrpcMethod()
  free(): Answer {
    return { text: 'free' };
  }
}

/** What a call came to. */
interface Outcome {
  readonly texts: string[];
  readonly error?: ServiceError;
}

type Method = (...args: unknown[]) => NodeJS.EventEmitter & { write(wish: Wish): void; end(): void };

const clients: Client[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

class GrpcClient {
  private readonly methods: Record<string, Method>;

  constructor(url: string) {
    const { shop } = loadPackageDefinition(loadSync(protoPath)) as unknown as {
      shop: { Orders: new (url: string, credentials: unknown) => Client };
    };
    const client = new shop.Orders(url, credentials.createInsecure());
    clients.push(client);
    this.methods = client as unknown as Record<string, Method>;
  }

  /** A call that has one answer. */
  ask(method: string, what = '', client?: string): Promise<Outcome> {
    const metadata = new Metadata();
    if (client !== undefined) metadata.set('X-Client', client);
    return new Promise((resolve) => {
      const end = (error: ServiceError | null, answer?: Answer) =>
        resolve(error === null ? { texts: [answer!.text] } : { texts: [], error });
      this.methods[method]!.call(this.methods, { what }, metadata, end);
    });
  }

  /** A call that has a stream of answers. */
  hear(method: 'Watch' | 'Talk', what: string): Promise<Outcome> {
    const call = method === 'Watch' ? this.methods[method]!({ what }) : this.methods[method]!();
    if (method === 'Talk') {
      call.write({ what });
      call.end();
    }
    const texts: string[] = [];
    call.on('data', ({ text }: Answer) => texts.push(text));
    return new Promise((resolve) => {
      call.once('end', () => resolve({ texts }));
      call.once('error', (error: ServiceError) => resolve({ texts, error }));
    });
  }
}

const grpc = (url: string) =>
  ({ transport: Transport.GRPC, options: { package: 'shop', protoPath, url } }) as const;

async function start(options: LooseOptions = {}, faults = new Faults()): Promise<GrpcClient> {
  const root = little({ limits: { policies, clock, ...options }, controllers: [Orders] });
  const compiled = await faults.install(Test.createTestingModule({ imports: [root] })).compile();
  const url = `127.0.0.1:${await freePort()}`;
  await ended(compiled.createNestMicroservice(grpc(url))).listen();
  return new GrpcClient(url);
}

const trailers = ({ error }: Outcome) => [
  error?.code,
  error?.details,
  error?.metadata.get('retry-after'),
  error?.metadata.get('grpc-retry-pushback-ms'),
];

const exhausted = [status.RESOURCE_EXHAUSTED, denied('two').detail, ['20'], ['20000']];

describe('gRPC', () => {
  test.each([
    ['in memory', () => ({})],
    ['on Valkey', onValkey],
  ])('%s: a call above the limit is RESOURCE_EXHAUSTED, and nothing is logged', async (_, where) => {
    const faults = new Faults();
    const client = await start(where(), faults);
    for (const what of ['cup', 'mug']) expect((await client.ask('Order', what)).texts).toEqual([what]);
    expect(trailers(await client.ask('Order'))).toEqual(exhausted);
    expect((await client.ask('Free')).texts).toEqual(['free']);
    expect(faults.lines).toEqual([]);
  });

  test.each(['Watch', 'Talk'] as const)('a stream counts once: %s', async (method) => {
    const client = await start();
    for (let count = 0; count < 2; count += 1) {
      expect((await client.hear(method, 'cup')).texts).toEqual(method === 'Watch' ? ['cup', 'cup'] : ['cup']);
    }
    expect(trailers(await client.hear(method, 'cup'))).toEqual(exhausted);
  });

  test('keys see the metadata and the peer', async () => {
    const client = await start();
    for (const name of ['ada', 'ada', 'eve'])
      expect((await client.ask('Order', '', name)).error).toBeUndefined();
    expect((await client.ask('Order', '', 'ada')).error?.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(seen[0]!.route).toBe('pattern:Orders/Order');
    expect(seen[0]!.request.body).toEqual({ what: '' });
    expect(key.ip()(seen[0]!)).toBe('127.0.0.1');
    expect(key.header('x-client')(seen[0]!)).toBe('ada');
  });

  test('a call that can never pass is not to be tried again', async () => {
    const [code, , retryAfter, pushback] = trailers(await (await start()).ask('Huge'));
    expect([code, retryAfter, pushback]).toEqual([status.RESOURCE_EXHAUSTED, [], ['-1']]);
  });

  test('a closed policy that cannot be decided is UNAVAILABLE', async () => {
    expect(trailers(await (await start(onNothing)).ask('Closed'))).toEqual([
      status.UNAVAILABLE,
      unavailable('closed').detail,
      ['1'],
      ['1000'],
    ]);
  });

  test.each([true, false])('is limited beside HTTP, with inheritAppConfig %j', async (inheritAppConfig) => {
    const root = little({ limits: { policies, clock }, controllers: [Orders] });
    const compiled = await Test.createTestingModule({ imports: [root] }).compile();
    const app = ended(compiled.createNestApplication(new FastifyAdapter()));
    const url = `127.0.0.1:${await freePort()}`;
    app.connectMicroservice(grpc(url), { inheritAppConfig });
    await app.startAllMicroservices();
    await app.init();
    const client = new GrpcClient(url);
    for (let count = 0; count < 2; count += 1) expect((await client.ask('Order')).error).toBeUndefined();
    expect(trailers(await client.ask('Order'))).toEqual(exhausted);
  });
});

describe('a call that is handed over as it is cannot be refused, and so', () => {
  const boot = (root: DynamicModule) => refusal(root);

  test('@RateLimit there does not boot', async () => {
    @Controller()
    class Raw {
      @GrpcStreamCall('Orders', 'Talk')
      @Limit('closed')
      talk(): void {}
    }
    const error = await boot(little({ limits: { policies }, controllers: [Raw] }));
    expect(error).toMatchObject({ code: 'NOT_A_ROUTE', where: 'Raw.talk' });
    expect(error.message).toMatch(/Use @GrpcStreamMethod, or @SkipRateLimit\(\)\.$/);
  });

  test('neither does one at its class', async () => {
    @Controller()
    @Limit('closed')
    class Raw {
      @GrpcStreamCall('Orders', 'Talk')
      talk(): void {}
    }
    expect(await boot(little({ limits: { policies }, controllers: [Raw] }))).toMatchObject({
      where: 'Raw.talk',
    });
  });
});
