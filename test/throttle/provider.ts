import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach } from '@jest/globals';

/** A message that has reached the provider. */
export interface Arrival {
  /** In milliseconds, by a clock that never goes back. */
  readonly at: number;
  readonly phone: string;
}

export interface Provider {
  readonly url: string;
  readonly arrivals: readonly Arrival[];
}

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** A provider of SMS over real HTTP that keeps what reaches it. It is ended after the test. */
export async function startProvider(status = 200): Promise<Provider> {
  const arrivals: Arrival[] = [];
  const server = createServer(async (request, response) => {
    const at = performance.now();
    const { phone } = JSON.parse(await text(request)) as { phone: string };
    arrivals.push({ at, phone });
    response.writeHead(status).end();
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrivals };
}
