import { afterEach } from '@jest/globals';
import { type CanActivate, type ExecutionContext, Injectable, type INestMicroservice } from '@nestjs/common';
import { ClientProxyFactory, Transport, type ClientProxy } from '@nestjs/microservices';
import type { AddressInfo, Server } from 'node:net';
import { Test } from '@nestjs/testing';
import { firstValueFrom } from 'rxjs';
import { little, type LittleModule } from '../../support/little.js';
import type { Faults } from './limits.js';

const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

/** Ends it with the test. */
export function ended<Closable extends { close(): unknown }>(closable: Closable): Closable {
  open.push(closable);
  return closable;
}

/** Any free port of the loopback address. */
export const tcp = { transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 } } as const;

/** A client of a microservice, over TCP. */
export class TcpClient {
  private constructor(private readonly proxy: ClientProxy) {}

  static async of(service: INestMicroservice): Promise<TcpClient> {
    const { port } = service.unwrap<Server>().address() as AddressInfo;
    const proxy = ended(
      ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } }),
    );
    await proxy.connect();
    return new TcpClient(proxy);
  }

  /** The answer, or what it is refused with. */
  async ask(pattern: unknown, data: unknown = {}): Promise<unknown> {
    try {
      return await firstValueFrom(this.proxy.send(pattern, data));
    } catch (error) {
      return error;
    }
  }

  async tell(pattern: string, data: unknown = {}): Promise<void> {
    await firstValueFrom(this.proxy.emit(pattern, data), { defaultValue: undefined });
  }
}

/** Starts a microservice that has no HTTP server. */
export async function startMicroservice(root: LittleModule, faults?: Faults): Promise<INestMicroservice> {
  const builder = Test.createTestingModule({ imports: [little(root)] });
  const compiled = await (faults?.install(builder) ?? builder).compile();
  const service = ended(compiled.createNestMicroservice(tcp));
  await service.listen();
  return service;
}

/** Believes what a message says, as a test may. */
@Injectable()
export class LogIn implements CanActivate {
  canActivate(execution: ExecutionContext): boolean {
    const [data, context] = execution.getArgs<[{ as: string }, { user?: unknown }]>();
    context.user = { id: data.as };
    return true;
  }
}
