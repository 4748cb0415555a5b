import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'iovalkey';
import type { LocalValkey } from '../../tools/local-valkey.js';
import { startProxy, type TcpProxy } from './tcp-proxy.js';
import { ownValkey } from './valkey.js';

const MIB = 2 ** 20;

let valkey: LocalValkey;
let proxy: TcpProxy;
const clients: Redis[] = [];

/** A client of the Valkey behind the proxy that does not come back. It gives up late: the machine may be busy. */
function client(commandTimeout = 10_000): Redis {
  const redis = new Redis(proxy.port, '127.0.0.1', { commandTimeout, retryStrategy: () => null });
  redis.on('error', () => {});
  clients.push(redis);
  return redis;
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

async function eventually(check: () => boolean): Promise<void> {
  for (let waited = 0; !check() && waited < 5_000; waited += 10) await sleep(10);
  expect(check()).toBe(true);
}

beforeAll(async () => {
  valkey = await ownValkey();
});

beforeEach(async () => {
  proxy = await startProxy(valkey.port);
});

afterEach(async () => {
  for (const redis of clients.splice(0)) if (redis.status !== 'end') redis.disconnect();
  await proxy.close();
});

describe('a proxy', () => {
  test('forwards, and counts who is connected', async () => {
    const [one, two] = [client(), client()];
    await one.set('key', 'x'.repeat(MIB));
    expect(await two.strlen('key')).toBe(MIB);
    expect(proxy.connections).toBe(2);
    one.disconnect();
    await eventually(() => proxy.connections === 1);
  });

  test('delays what comes and goes, in order, and however much is on its way', async () => {
    const redis = client();
    await redis.ping();
    proxy.delay(150);
    expect(await timed(() => redis.ping())).toBeGreaterThanOrEqual(300);
    const spent = await timed(async () => {
      const numbers = Array.from({ length: 20 }, async (_, i) => {
        await sleep(i * 5);
        return redis.incr('counted');
      });
      expect(await Promise.all(numbers)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    });
    expect(spent).toBeGreaterThanOrEqual(95 + 300);
    expect(spent).toBeLessThan(20 * 300); // not one after the other
    await proxy.mend();
    expect(await timed(() => redis.ping())).toBeLessThan(300);
  });

  test('throttles', async () => {
    const redis = client();
    await redis.set('key', 'x'.repeat(10_000));
    proxy.throttle(50_000);
    const spent = await timed(async () => expect(await redis.get('key')).toHaveLength(10_000));
    expect(spent).toBeGreaterThanOrEqual(170);
    proxy.throttle(1);
    const slow = redis.get('key');
    await sleep(50);
    await proxy.mend();
    expect(await slow).toHaveLength(10_000);
  });

  test('hangs, and delivers what it held when it is mended', async () => {
    const redis = client(500);
    await redis.set('held', 0);
    proxy.hang();
    await expect(redis.incr('held')).rejects.toThrow('Command timed out');
    const late = client(500);
    await expect(late.incr('held')).rejects.toThrow('Command timed out');
    expect(proxy.connections).toBe(2);
    late.disconnect();
    await eventually(() => proxy.connections === 1);
    await proxy.mend();
    expect(await redis.incr('held')).toBe(2); // the one that timed out was only late
  });

  test('cuts, refuses, and listens on the same port again', async () => {
    const redis = client();
    await redis.ping();
    proxy.cut();
    await once(redis, 'end');
    expect(proxy.connections).toBe(0);
    await expect(once(connect(proxy.port, '127.0.0.1'), 'connect')).rejects.toThrow('ECONNREFUSED');
    const { port } = proxy;
    await proxy.mend();
    expect(proxy.port).toBe(port);
    expect(await client().ping()).toBe('PONG');
  });

  test('hangs up on a client whose server is gone, and on everybody when it is closed', async () => {
    const redis = client();
    await redis.ping();
    await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no');
    await once(redis, 'end');
    const other = client();
    await other.ping();
    await proxy.close();
    await once(other, 'end');
    await proxy.close();
  });
});

describe('a far side that does not read', () => {
  const server = createServer({ pauseOnConnect: true });

  test('stops the near side, and what was on its way comes whole', async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const narrow = await startProxy((server.address() as AddressInfo).port);
    const near = connect(narrow.port, '127.0.0.1');
    const [far] = (await once(server, 'connection')) as [Socket];
    try {
      const sent = createHash('sha1');
      let written = 0;
      const writing = (async () => {
        for (; written < 1_024; written++) {
          const chunk = Buffer.alloc(64 * 1_024, written);
          sent.update(chunk);
          if (!near.write(chunk)) await once(near, 'drain');
        }
        near.end();
      })();
      for (let before = NaN; before !== written; await sleep(300)) before = written;
      // What could be written lies in the sockets' buffers, which the system bounds, and in the proxy.
      expect(written).toBeLessThan(768);
      const received = createHash('sha1');
      for await (const chunk of far as AsyncIterable<Buffer>) received.update(chunk);
      await writing;
      expect(received.digest('hex')).toBe(sent.digest('hex'));
    } finally {
      near.destroy();
      far.destroy();
      server.close();
      await narrow.close();
    }
  });
});
