import { request } from 'node:http';
import { createServer } from 'node:net';
import { afterEach } from '@jest/globals';
import { type LocalNginx, type LocalNginxOptions, startNginx } from '../../tools/local-nginx.js';

/** What an nginx passes on of a client's address: it adds the address of whoever asked it to the end of the list. */
export const APPEND = 'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;';
/** As above, for the proxy that clients reach: what they claim is not passed on. */
export const REPLACE = 'proxy_set_header X-Forwarded-For $remote_addr;';

const running = new Set<LocalNginx>();

// Also after a test that failed half-way, so that no server outlives it.
afterEach(async () => {
  await Promise.all([...running].map((each) => each.stop()));
  running.clear();
});

/** Starts an nginx that is ended after the test. */
export async function nginx(options: LocalNginxOptions): Promise<LocalNginx> {
  const started = await startNginx(options);
  running.add(started);
  return started;
}

/** An nginx that passes everything on to `target`. */
export function proxyTo(
  target: string,
  { says = APPEND, ...options }: Omit<LocalNginxOptions, 'server'> & { says?: string } = {},
): Promise<LocalNginx> {
  return nginx({ ...options, server: `location / { proxy_pass ${target}; ${says} }` });
}

/** Proxies in front of a server, each at its own address; the first is the one that clients reach. */
export async function chainTo(target: string, addresses: readonly string[]): Promise<string> {
  let url = target;
  for (const address of addresses.toReversed()) url = (await proxyTo(url, { address })).url;
  return url;
}

/** The status that a client at an address of the loopback gets. A field with several values is sent several times. */
export function statusFor(
  from: string,
  url: string,
  headers: Record<string, string | string[]> = {},
  method = 'GET',
): Promise<number> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { method, localAddress: from, headers, agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode!));
    });
    asking.once('error', reject).end();
  });
}

/** Whether something can listen at an address here: only Linux has all of 127.0.0.0/8, and not everybody has IPv6. */
export function hasAddress(address: string): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', () => resolve(false));
    probe.listen(0, address, () => probe.close(() => resolve(true)));
  });
}
