import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { metrics } from '@opentelemetry/api';
import type { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { startApp } from '../support/app.js';
import { Limit, little } from '../support/little.js';
import { Audit } from './observability/audit.js';
import { telemetry } from './observability/telemetry.js';
import { TopController } from './observability/top.controller.js';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFile(new URL(path, root), 'utf8');

@Controller()
class Routes {
  @Get('api')
  @Limit('api')
  api(): string {
    return '';
  }

  @Get('login')
  @Limit('login')
  login(): string {
    return '';
  }
}

const policies = {
  api: { algorithm: 'fixed-window', limit: 4, window: '3650d' },
  login: { algorithm: 'fixed-window', limit: 1, window: '3650d' },
} as const;

let scrapes: string;
let exporter: PrometheusExporter;

beforeAll(async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  process.env['METRICS_PORT'] = String(port);
  scrapes = `http://127.0.0.1:${port}/metrics`;
  ({ exporter } = await import('./observability/meters.js'));
});
afterAll(async () => {
  delete process.env['METRICS_PORT'];
  metrics.disable();
  await exporter.shutdown();
});

test('the examples are the files that are run here', async () => {
  const page = await read('docs/observability.md');
  const examples = [...page.matchAll(/^<!-- (\S+\.ts).*-->\n\n```ts\n([^]*?)^```$/gm)];
  expect(examples).toHaveLength([...page.matchAll(/^```ts$/gm)].length);
  for (const [, path, text] of examples) expect(text).toBe(await read(path!));
});

test('the examples do what the guide says', async () => {
  const said: string[] = [];
  const say = (line: string) => void said.push(line);
  const app = await startApp(
    little({ limits: { policies, telemetry }, controllers: [Routes, TopController], providers: [Audit] }),
    'fastify',
    { module: (builder) => builder.setLogger({ log: say, warn: say, error: say }) },
  );
  for (let count = 0; count < 6; count += 1) await app.fetch('/api');
  const first = await app.fetch('/login');
  expect(first.headers.get('server-timing')).toMatch(/^ratelimit-decision;dur=\d+\.\d\d$/);
  expect((await app.fetch('/login')).status).toBe(429);

  expect(said).toContainEqual(
    expect.stringMatching(/^Too many log-ins of 127\.0\.0\.1, decided in \d+\.\d ms$/),
  );
  expect(await (await app.fetch('/admin/top')).json()).toEqual(['127.0.0.1: 1.5 × its limit, 2 denied']);

  const text = await (await fetch(scrapes)).text();
  const lines = text
    .split('\n')
    .map((line) => line.replace(',otel_scope_name="nestjs-valkey-rate-limit"', ''));
  const labels = (policy: string, outcome: string) =>
    `rate_limit_policy="${policy}",rate_limit_outcome="${outcome}",rate_limit_store="memory"`;
  expect(lines).toEqual(
    expect.arrayContaining([
      `rate_limit_decisions_total{${labels('api', 'allowed')}} 4`,
      `rate_limit_decisions_total{${labels('api', 'denied')}} 2`,
      `rate_limit_decisions_total{${labels('login', 'denied')}} 1`,
    ]),
  );
  expect(text).not.toContain('127.0.0.1');

  const page = await read('docs/observability.md');
  const listed = [...page.matchAll(/^\| `(rate_limit\.[\w.]+)`/gm)].map(([, name]) =>
    name!.replaceAll('.', '_'),
  );
  const measured = [...text.matchAll(/^# TYPE (rate_limit_\w+?)(_total)? /gm)].map(([, name]) => name!);
  expect(measured.toSorted()).toEqual(listed.toSorted());

  await app.close();
  const line = /^"api" refused 2 in \d+ s: 2 denied\. Most often: "127\.0\.0\.1" \(2\)\.$/;
  expect(said).toContainEqual(expect.stringMatching(line));
});
