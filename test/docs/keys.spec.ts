import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import * as common from '@nestjs/common';
import * as core from '@nestjs/core';
import * as express from '@nestjs/platform-express';
import * as fastify from '@nestjs/platform-fastify';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Redis } from 'iovalkey';
import ts from 'typescript';
import type { App } from '../support/app.js';
import { lookInto } from '../support/client.js';
import { startLittle } from '../support/little.js';
import { hasAddress, nginx, statusFor } from '../support/proxies.js';
import { ownValkey } from '../support/valkey.js';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFile(new URL(path, root), 'utf8');
const page = await read('docs/keys.md');

/** What stands between fences, after the language that is written there. */
const blocks = (language: string) =>
  [...page.matchAll(/^```(.*)\n([^]*?)^```$/gm)].flatMap(([, its, text]) =>
    its === language ? [text!] : [],
  );

const [ADA, EVE, OUTER, INNER] = ['127.0.0.11', '127.0.0.66', '127.0.1.1', '127.0.1.2'] as const;
const here = await hasAddress(OUTER);

let valkey: Redis;

beforeAll(async () => {
  const { url } = await ownValkey();
  valkey = lookInto(url);
  process.env['VALKEY_URL'] = url;
  process.env['RATE_LIMIT_SECRET'] = 'a secret for the tests';
});

beforeEach(() => valkey.flushall());

const keys = async () => (await valkey.keys('*')).toSorted();

test('the examples are the files that are run here', async () => {
  const files = ['limits', 'fastify', 'express'].map((name) => read(`test/docs/keys/${name}.ts`));
  expect(blocks('ts')).toEqual(await Promise.all(files));
});

test('the keys in Valkey are those that it lists', async () => {
  const { options, policies } = await import('./keys/limits.js');
  const { OrdersController } = await import('./keys/app.module.js');
  const everyRoute = Object.keys(policies) as (keyof typeof policies)[];
  const { app, fetch } = await startLittle('fastify', { ...options, everyRoute }, [OrdersController], {
    trustProxy: ['127.0.0.1'],
    app: (each) => {
      const server = each.getHttpAdapter().getInstance() as { addHook(name: string, hook: unknown): void };
      server.addHook(
        'onRequest',
        (request: IncomingMessage & { user?: unknown }, _: unknown, next: () => void) => {
          request.user = { id: 42, tenant: 'acme' };
          next();
        },
      );
    },
  });
  const response = await fetch('/orders/7', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': '203.0.113.9',
      'x-api-key': 'sk_live_0123456789',
      'x-region': 'North Sea',
    },
    body: JSON.stringify({ username: 'ada', email: 'ada@example.org' }),
  });
  expect([response.status, await response.text()]).toEqual([201, 'Changed.']);
  const [listed] = blocks('');
  expect(await keys()).toEqual(listed!.trim().split('\n').toSorted());
  await app.close();
});

const AsyncFunction = (async () => {}).constructor as new (
  ...args: string[]
) => (load: (name: string) => unknown, exports: object) => Promise<App>;

/** Runs an example as it stands, except for the addresses and the port. */
async function run(example: string): Promise<App> {
  const source = example
    .replaceAll('10.0.0.7', OUTER)
    .replaceAll('10.0.0.8', INNER)
    .replace('app.listen(3000)', "app.listen(0, '127.0.0.1')");
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.CommonJS },
  });
  const modules: Record<string, unknown> = {
    '@nestjs/common': common,
    '@nestjs/core': core,
    '@nestjs/platform-express': express,
    '@nestjs/platform-fastify': fastify,
    './app.module.js': await import('./keys/app.module.js'),
  };
  const body = new AsyncFunction('require', 'exports', `${outputText}\nreturn app;`);
  return body((name) => modules[name], {});
}

(here ? describe : describe.skip)('behind the nginx of the page, the example for', () => {
  let app: App | undefined;

  afterEach(() => app?.close());

  test.each([
    ['Fastify', 1],
    ['Express', 2],
  ])('%s counts clients, by one hop and by two', async (_, index) => {
    app = await run(blocks('ts')[index]!);
    const [server] = blocks('nginx') as [string];
    const passOn = (target: string) => server.replace('http://10.0.0.9:3000', target);
    const inner = await nginx({ address: INNER, server: passOn(await app.getUrl()) });
    const outer = await nginx({ address: OUTER, server: passOn(inner.url) });
    for (const { url } of [inner, outer]) {
      await valkey.flushall();
      await statusFor(ADA, `${url}/orders/7`, {}, 'POST');
      await statusFor(EVE, `${url}/orders/7`, { 'x-forwarded-for': '203.0.113.9' }, 'POST');
      const addresses = (await keys()).filter((key) => key.includes(':address:'));
      expect(addresses).toEqual([`rl:{${ADA}}:address:sc`, `rl:{${EVE}}:address:sc`]);
    }
  });
});
