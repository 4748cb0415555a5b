import { Cluster, Redis, type RedisOptions } from 'iovalkey';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Module } from '@nestjs/common';
import { RateLimitModule, type ValkeyClient } from 'nestjs-valkey-rate-limit';
import { startApp } from '../support/app.js';
import { LimiterLogs } from '../support/logs.js';

const url = process.env['TEST_VALKEY_URL']!;
const port = Number(new URL(url).port);
const fit: RedisOptions = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  socketTimeout: 1_000,
};

describe("an application's own client", () => {
  let client: Redis | Cluster | undefined;
  afterEach(() => client?.disconnect());

  const warnings = async (valkey: ValkeyClient) => {
    client?.on('error', () => undefined); // it is closed in the middle of what it does
    @Module({ imports: [RateLimitModule.forRoot({ valkey })] })
    class Root {}
    const logs = new LimiterLogs();
    await startApp(Root, 'fastify', { module: logs.install });
    return logs.lines.filter((line) => line.startsWith('warn'));
  };

  test('with the defaults of its package is used, and what suits no limiter is named in one line', async () => {
    client = new Redis(url);
    expect(await warnings(client)).toEqual([
      expect.stringMatching(
        /^warn: .*enableOfflineQueue: true \(.*no socketTimeout \(.*autoResendUnfulfilledCommands: true \(.*, or a URL\.$/,
      ),
    ]);
  });

  test('for a Cluster as well', async () => {
    client = new Cluster([{ host: '127.0.0.1', port }], { lazyConnect: true, enableAutoPipelining: true });
    expect(await warnings(client)).toEqual([
      expect.stringMatching(
        /^warn: .*enableOfflineQueue: true.*no socketTimeout.*enableAutoPipelining: true.*retryDelayOnFailover above 0/,
      ),
    ]);
  });

  test('that suits is not spoken of, and neither is one that does not show its settings', async () => {
    client = new Redis(port, '127.0.0.1', { ...fit, lazyConnect: true });
    expect(await warnings(client)).toEqual([]);
    const hidden: ValkeyClient = {
      evalsha: (...args) => (client as Redis).evalsha(...args),
      eval: (...args) => (client as Redis).eval(...args),
      del: (key) => (client as Redis).del(key),
    };
    expect(await warnings(hidden)).toEqual([]);
  });
});
