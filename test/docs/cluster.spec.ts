import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { RateLimiter } from 'nestjs-valkey-rate-limit';
import { ask } from '../../tools/ask-valkey.js';
import { type LocalCluster, startCluster } from '../../tools/local-cluster.js';
import { adapters, type RunningApp } from '../support/app.js';
import { as, authenticate } from '../support/authentication.js';
import { startLittle } from '../support/little.js';
import { ReportsController } from './cluster/reports.controller.js';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFile(new URL(path, root), 'utf8');

test('the examples are the files that are run here', async () => {
  const page = await read('docs/cluster.md');
  const examples = [...page.matchAll(/^<!-- (\S+\.ts).*-->\n\n```ts\n([^]*?)^```$/gm)];
  expect(examples.map(([, path]) => path)).toEqual([
    'test/docs/cluster/limits.ts',
    'test/docs/cluster/reports.controller.ts',
  ]);
  for (const [, path, text] of examples) expect(text).toBe(await read(path!));
});

let cluster: LocalCluster;

beforeAll(async () => {
  cluster = await startCluster();
  process.env['VALKEY_NODES'] = cluster.urls.join(' ');
});
afterAll(() => cluster.stop());

describe.each(adapters)('the example on %s', (adapter) => {
  let app: RunningApp;

  beforeEach(async () => {
    for (const { server } of cluster.nodes) {
      await ask(server, 'FLUSHALL');
      await ask(server, 'CONFIG', 'RESETSTAT');
    }
    const { options } = await import('./cluster/limits.js');
    // What is denied is asked for each time, and a machine that is busy gets its time.
    const limits = { ...options, denyCache: 'off', deadline: '5s' } as const;
    app = await startLittle(adapter, limits, [ReportsController], authenticate(adapter));
  });

  const by = (tenant: string, method = 'GET') => ({ method, ...as(tenant) });
  /** How often any node is asked to decide meanwhile. */
  const callsOf = async (request: () => Promise<Response>) => {
    const count = async () => {
      const all = cluster.nodes.map(async ({ server }) => {
        const stats = String(await ask(server, 'INFO', 'commandstats'));
        const of = (command: string) =>
          Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
        return of('evalsha') - of('hget'); // without the looks for limits that have been changed, one each second
      });
      return (await Promise.all(all)).reduce((sum, calls) => sum + calls);
    };
    const before = await count();
    await request();
    return (await count()) - before;
  };
  const left = async () => {
    const limiter = app.app.get(RateLimiter, { strict: false });
    const asked = await Promise.all([
      limiter.peek('requests', { key: 'acme' }),
      limiter.peek('reports', { key: 'acme' }),
      limiter.peek('api', { key: '127.0.0.1' }),
    ]);
    return asked.map((decision) => ('remaining' in decision ? decision.remaining : decision));
  };

  test('asks once for one subject, twice for two, and once more where something is given back', async () => {
    expect(await callsOf(() => app.fetch('/reports', by('acme')))).toBe(1);
    expect(await callsOf(() => app.fetch('/reports', by('umbrella', 'POST')))).toBe(2);
    for (let count = 0; count < 2; count += 1) await app.fetch('/reports', by('acme'));
    const denied = () => app.fetch('/reports', by('acme', 'POST'));
    expect((await denied()).status).toBe(429);
    expect(await callsOf(denied)).toBe(3);
  });

  test('takes nothing where one of its policies denies, on whichever shard it is', async () => {
    for (let count = 0; count < 3; count += 1) await app.fetch('/reports', by('acme'));
    expect((await app.fetch('/reports', by('acme', 'POST'))).status).toBe(429);
    expect(await left()).toEqual([97, 0, 600]);
    expect((await app.fetch('/reports', by('umbrella', 'POST'))).status).toBe(201);
    expect(await left()).toEqual([97, 0, 599]);
  });
});
