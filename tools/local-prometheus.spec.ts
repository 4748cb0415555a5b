import { once } from 'node:events';
import { access, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { ownFolder } from '../test/support/folder.js';
import { type LocalPrometheus, type LocalPrometheusOptions, startPrometheus } from './local-prometheus.js';
import { until } from './until.js';

const stops: (() => unknown)[] = [];

afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())));

/** Something to scrape, for those who show the token. */
async function startTarget(): Promise<string> {
  const server = createServer(({ url, headers }, response) => {
    if (url !== '/metrics' || headers.authorization !== 'Bearer secret') response.statusCode = 401;
    response.end('# TYPE apples gauge\napples{colour="red"} 3\napples{colour="green"} 4\n');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  stops.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function rulesFile(text: string): Promise<string> {
  const file = join(await ownFolder(), 'rules.yml');
  await writeFile(file, text);
  return file;
}

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const RULES = `
groups:
  - name: fruit
    rules:
      - alert: TooManyApples
        expr: sum(apples) > 6
        labels: { severity: warning }
`;

/** Ended after the test, if it does not end it itself. */
async function start(options: LocalPrometheusOptions): Promise<LocalPrometheus> {
  const prometheus = await startPrometheus(options);
  stops.push(prometheus.stop);
  return prometheus;
}

test('scrapes with its token, answers queries, looks at rules, and is gone after stop', async () => {
  const options = {
    targets: [await startTarget()],
    scrapeIntervalMs: 100,
    rules: [await rulesFile(RULES)],
  };
  const [prometheus, stranger] = await Promise.all([
    start({ ...options, bearerToken: 'secret' }),
    start(options),
  ]);
  expect(prometheus.version).toMatch(/^\d+\.\d+/);

  await until('apples are seen', async () => (await prometheus.query('apples')).length === 2);
  expect(await prometheus.query('sum(apples)')).toEqual([{ labels: {}, value: 7 }]);
  expect(await prometheus.query('1 / 0')).toEqual([{ labels: {}, value: Infinity }]);
  expect(await prometheus.query('pears')).toEqual([]);
  await expect(prometheus.query('sum(')).rejects.toThrow(/parse error/);
  expect(await prometheus.get('label/colour/values')).toEqual(['green', 'red']);

  await until('the rule fires', async () => (await prometheus.rules())[0]?.state === 'firing');
  expect(await prometheus.rules()).toMatchObject([{ name: 'TooManyApples', health: 'ok' }]);

  await until('the other is refused', async () => (await stranger.query('up'))[0]?.value === 0);
  expect(await stranger.query('apples')).toEqual([]);

  await Promise.all([prometheus.stop(), prometheus.stop()]);
  expect(isRunning(prometheus.pid)).toBe(false);
  await expect(access(prometheus.folder)).rejects.toThrow('ENOENT');
});

test('explains why it did not start', async () => {
  const failing = startPrometheus({
    targets: [],
    scrapeIntervalMs: 100,
    rules: [await rulesFile('groups: [{ name: fruit, rules: [{ alert: Apples, expr: "sum(" }] }]')],
  });
  await expect(failing).rejects.toThrow(/ended with code \d+ before it answered[^]*parse error/);
});
