import { afterEach } from '@jest/globals';
import { type Client, credentials, loadPackageDefinition, type ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { Transport } from '@nestjs/microservices';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const protoPath = fileURLToPath(new URL('../shop.proto', import.meta.url));

/** The service of `shop.proto`, at an address. */
export const shop = (url: string) =>
  ({ transport: Transport.GRPC, options: { package: 'shop', protoPath, url } }) as const;

/** An address of the loopback interface at which nobody listens. */
export async function freeAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `127.0.0.1:${port}`;
}

/** What a call came to. */
export interface Heard {
  readonly texts: readonly string[];
  readonly error?: ServiceError;
}

/** A call that is under way. */
export interface Call extends NodeJS.EventEmitter {
  write(wish: { what: string }): void;
  end(): void;
  cancel(): void;
}

const clients: Client[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

/** A client of the service. */
export class ShopClient {
  private readonly methods: Record<string, (...args: unknown[]) => Call>;

  constructor(address: string) {
    const { shop: found } = loadPackageDefinition(loadSync(protoPath)) as unknown as {
      shop: { Orders: new (address: string, credentials: unknown) => Client };
    };
    const client = new found.Orders(address, credentials.createInsecure());
    clients.push(client);
    this.methods = client as unknown as typeof this.methods;
  }

  /** A call that has one answer. */
  ask(method: string, what: string): Promise<Heard> {
    return new Promise((resolve) => {
      this.methods[method]!({ what }, (error: ServiceError | null, answer?: { text: string }) =>
        resolve(error === null ? { texts: [answer!.text] } : { texts: [], error }),
      );
    });
  }

  /** Begins a call that has a stream of answers. */
  begin(method: 'Watch' | 'Talk', what: string): Call {
    if (method === 'Watch') return this.methods[method]!({ what });
    const call = this.methods[method]!();
    call.write({ what });
    return call;
  }

  /** All of one. */
  hear(method: 'Watch' | 'Talk', what: string): Promise<Heard> {
    const call = this.begin(method, what);
    if (method === 'Talk') call.end();
    const texts: string[] = [];
    call.on('data', ({ text }: { text: string }) => texts.push(text));
    return new Promise((resolve) => {
      call.once('end', () => resolve({ texts }));
      call.once('error', (error: ServiceError) => resolve({ texts, error }));
    });
  }
}
