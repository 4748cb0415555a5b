import { Controller, Get, Module } from '@nestjs/common';
import { Redis } from 'iovalkey';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  key,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  type RateLimitPolicy,
  type ValkeyClient,
} from 'nestjs-valkey-rate-limit';
import { startValkey } from '../../tools/local-valkey.js';
import { adapters, type RunningApp, startApp } from '../support/app.js';
import { LimiterLogs } from '../support/logs.js';
import { until } from '../../tools/until.js';
import { ownValkey } from '../support/valkey.js';

const DEADLINE_MS = 50;
/** A test machine is busy: how much later than the deadline an answer may come. */
const SLACK_MS = 200;

const limit: RateLimitPolicy = { algorithm: 'token-bucket', limit: 3, window: '1h', key: key.global() };

/** One policy on two handlers. */
const bothLocal = { ...limit, name: 'both-local' };

@Controller()
class Routes {
  @Get('open')
  @RateLimit({ ...limit, name: 'open', onStoreFailure: 'open' })
  open() {
    return 'ok';
  }

  @Get('closed')
  @RateLimit({ ...limit, name: 'closed', onStoreFailure: 'closed' })
  closed() {
    return 'ok';
  }

  @Get('local')
  @RateLimit({ ...limit, name: 'local' })
  local() {
    return 'ok';
  }

  @Get('alone')
  @RateLimit(bothLocal)
  alone() {
    return 'ok';
  }

  @Get('both')
  @RateLimit(bothLocal)
  @RateLimit({ ...limit, name: 'both-closed', onStoreFailure: 'closed' })
  both() {
    return 'ok';
  }
}

function moduleFor(valkey: string | ValkeyClient) {
  @Module({
    imports: [RateLimitModule.forRoot({ valkey, deadline: DEADLINE_MS, policies: { service: limit } })],
    controllers: [Routes],
  })
  class FailureModule {}
  return FailureModule;
}

/** Statuses of calls one after the other, and how long the slowest took. */
async function call(running: RunningApp, path: string, times: number) {
  const statuses: number[] = [];
  let slowest = 0;
  for (let count = 0; count < times; count += 1) {
    const begin = performance.now();
    statuses.push((await running.fetch(path)).status);
    slowest = Math.max(slowest, performance.now() - begin);
  }
  return { statuses, slowest };
}

async function storeOf(running: RunningApp): Promise<string> {
  const decision = await running.app.get(RateLimiter).peek('service' as never, { key: 'anybody' });
  return 'store' in decision ? decision.store : 'none';
}

const expectModes = async (running: RunningApp) => {
  const open = await running.fetch('/open');
  expect(open.status).toBe(200);
  expect(open.headers.get('ratelimit')).toBeNull();
  expect(open.headers.get('ratelimit-policy')).toBeNull();

  const closed = await running.fetch('/closed');
  expect(closed.status).toBe(503);
  expect(closed.headers.get('retry-after')).toBe('1');
  expect(closed.headers.get('ratelimit')).toBeNull();
  expect(closed.headers.get('cache-control')).toBe('no-store');
  expect(await closed.json()).toMatchObject({
    type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
    status: 503,
  });

  const { statuses, slowest } = await call(running, '/local', 5);
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
  expect(slowest).toBeLessThan(DEADLINE_MS + SLACK_MS);
};

describe.each(adapters)('when Valkey does not answer, on %s', (adapter) => {
  test('refused at boot: the application starts, says so once, decides by onStoreFailure, and uses it when it is there', async () => {
    const gone = await startValkey();
    await gone.stop();
    const logs = new LimiterLogs();
    const running = await startApp(moduleFor(gone.url), adapter, { module: logs.install });
    await expectModes(running);
    expect(logs.lines).toEqual([
      `log: Counting in Valkey at 127.0.0.1:${gone.port}.`,
      expect.stringMatching(
        /^warn: The store does not decide.*ECONNREFUSED.*Is it running, and on this port\?$/,
      ),
    ]);

    await ownValkey({ port: gone.port });
    await until('Valkey decides', async () => (await storeOf(running)) === 'valkey');
    expect((await call(running, '/closed', 4)).statuses).toEqual([200, 200, 200, 429]);
    // Said when it has been quiet for a second, so that a store that comes and goes does not fill the log.
    await until('it is said', async () => (await storeOf(running)) === 'valkey' && logs.lines.length > 2);
    expect(logs.lines.slice(2)).toEqual([
      expect.stringMatching(
        /^log: The store decides again. It had not for \d+\.\d s, in which \d+ decisions/,
      ),
    ]);
  });

  test('frozen: every request is answered within the deadline, and nothing that timed out is sent again', async () => {
    const server = await ownValkey();
    const logs = new LimiterLogs();
    const running = await startApp(moduleFor(server.url), adapter, { module: logs.install });
    expect((await running.fetch('/open')).headers.get('ratelimit')).toBe('"open";r=2;t=1200');
    server.kill('SIGSTOP');
    await expectModes(running);
    // It is left alone: only the first decision has waited, and the others take next to nothing.
    const begin = performance.now();
    for (let count = 0; count < 1_000; count += 1) expect(await storeOf(running)).toBe('local');
    expect(performance.now() - begin).toBeLessThan(1_000);

    server.kill('SIGCONT');
    const thawed = performance.now();
    await until('Valkey decides', async () => (await storeOf(running)) === 'valkey');
    expect(performance.now() - thawed).toBeLessThan(1_000);
    expect(logs.lines.filter((line) => line.startsWith('warn'))).toHaveLength(1);

    // The call that timed out may have been counted when the server went on, once.
    const { statuses } = await call(running, '/open', 3);
    expect(statuses.slice(0, 1)).toEqual([200]);
    expect(statuses.at(-1)).toBe(429);
  });

  test('killed and restarted, its scripts gone: nobody is refused because of it', async () => {
    const server = await startValkey();
    const running = await startApp(moduleFor(server.url), adapter, { module: new LimiterLogs().install });
    expect((await running.fetch('/local')).status).toBe(200);
    server.kill('SIGKILL');
    await server.stop();
    await expectModes(running);
    await ownValkey({ port: server.port });
    await until('Valkey decides', async () => (await storeOf(running)) === 'valkey');
    expect((await call(running, '/closed', 4)).statuses).toEqual([200, 200, 200, 429]);
  });
});

describe('when Valkey answers, but not as it should', () => {
  let client: Redis | undefined;
  afterEach(() => client?.disconnect());

  test('a closed policy beside a local one: 503, and the local one has lost nothing', async () => {
    const gone = await startValkey();
    await gone.stop();
    const running = await startApp(moduleFor(gone.url), 'fastify', { module: new LimiterLogs().install });
    const { statuses } = await call(running, '/both', 5);
    expect(statuses).toEqual([503, 503, 503, 503, 503]);
    expect((await call(running, '/alone', 4)).statuses).toEqual([200, 200, 200, 429]);
  });

  test('SCRIPT FLUSH in the middle: every decision is still made in Valkey', async () => {
    const server = await ownValkey();
    const running = await startApp(moduleFor(server.url), 'fastify', { module: new LimiterLogs().install });
    const limiter = running.app.get(RateLimiter);
    client = new Redis(server.url);
    const decisions = [];
    for (let round = 0; round < 20; round += 1) {
      const some = Array.from({ length: 50 }, (_, index) => {
        return limiter.consume('service' as never, { key: `client-${round}-${index}` });
      });
      await client.script('FLUSH', 'SYNC');
      decisions.push(...(await Promise.all(some)));
    }
    expect(
      decisions.filter((decision) => decision.outcome === 'allowed' && decision.store === 'valkey'),
    ).toHaveLength(1_000);
  });

  test('out of memory: denials are still made, and the others go by onStoreFailure', async () => {
    const server = await ownValkey({ args: ['--maxmemory-policy', 'noeviction'] });
    const running = await startApp(moduleFor(server.url), 'fastify', { module: new LimiterLogs().install });
    expect((await call(running, '/closed', 4)).statuses).toEqual([200, 200, 200, 429]);
    client = new Redis(server.url);
    await client.config('SET', 'maxmemory', '1');
    expect((await call(running, '/closed', 2)).statuses).toEqual([429, 429]);
    expect((await running.fetch('/both')).status).toBe(503);
    await client.config('SET', 'maxmemory', '0');
    expect((await running.fetch('/both')).status).toBe(200);
  });

  test('turned into a replica: a failure, and used again when it is a primary', async () => {
    const server = await ownValkey();
    const running = await startApp(moduleFor(server.url), 'fastify', { module: new LimiterLogs().install });
    client = new Redis(server.url);
    await client.replicaof('127.0.0.1', 1);
    expect((await running.fetch('/closed')).status).toBe(503);
    await client.replicaof('NO', 'ONE');
    await until('Valkey decides', async () => (await storeOf(running)) === 'valkey');
    expect((await running.fetch('/closed')).status).toBe(200);
  });

  test("an application's own client is used as it is, and not closed", async () => {
    const server = await ownValkey();
    client = new Redis(server.url);
    const running = await startApp(moduleFor(client), 'fastify');
    expect(await storeOf(running)).toBe('valkey');
    await running.close();
    expect(await client.ping()).toBe('PONG');
  });
});
