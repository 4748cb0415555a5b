import { readFile } from 'node:fs/promises';
import { type AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Logger } from '@nestjs/common';
import { ask } from '../contexts/support/graphql.js';
import { TcpClient } from '../contexts/support/microservices.js';
import { connect } from '../contexts/support/sockets.js';
import type { RunningApp } from '../support/app.js';
import { StockController } from './contexts/stock.controller.js';
import { start } from './contexts/start.js';
import { until } from '../../tools/until.js';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFile(new URL(path, root), 'utf8');
const page = await read('docs/contexts.md');

/** What the page shows of a refusal. */
function shown(context: string): unknown {
  const [, text] = new RegExp(`^\`\`\`json ${context}\n([^]*?)^\`\`\`$`, 'm').exec(page)!;
  return JSON.parse(text!);
}

let app: NestFastifyApplication;
let running: RunningApp;

beforeEach(async () => {
  Logger.overrideLogger(false);
  app = await start(0, 0);
  const { port } = app.getHttpServer().address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  running = { app, url, fetch: (path, init) => fetch(`${url}${path}`, init), close: () => app.close() };
});

afterEach(() => app.close());

test('the examples are the files that are run here', async () => {
  const examples = [...page.matchAll(/^<!-- (\S+\.ts).*-->\n\n```ts\n([^]*?)^```$/gm)];
  expect(examples).toHaveLength(page.match(/^```ts$/gm)!.length);
  for (const [, path, text] of examples) expect(text).toBe(await read(path!));
});

test('GraphQL: a mutation is limited by an argument, and refused as the page shows', async () => {
  const logIn = (username: string) => ask(running, `mutation { logIn(username: "${username}") }`);
  for (let count = 0; count < 5; count += 1) expect((await logIn('ada')).status).toBe(200);
  const { status, headers, errors } = await logIn('ada');
  expect([status, headers.get('retry-after')]).toEqual([429, '2']);
  expect(headers.get('ratelimit')).toBe('"login";r=0;t=2');
  const { message, path, extensions } = errors[0]!;
  expect({ message, path, extensions }).toEqual(shown('graphql'));
  expect((await logIn('eve')).status).toBe(200);
  for (let count = 0; count < 7; count += 1) expect((await ask(running, '{ status }')).status).toBe(200);
});

test('gateways: messages of a class are limited together, and refused as the page shows', async () => {
  const client = await connect('ws', running);
  for (let count = 0; count < 5; count += 1) {
    expect(await client.ask('say', 'hi')).toEqual({ event: 'said', data: 'hi' });
  }
  expect(await client.ask('say', 'hi')).toEqual(shown('gateway'));
  expect((await client.ask('ping')).event).toBe('pong');
  client.close();
});

test('microservices: messages are limited by what is in them, and refused as the page shows', async () => {
  const client = await TcpClient.of(app.getMicroservices()[0]!);
  for (let count = 0; count < 5; count += 1) expect(await client.ask('stock.count', { shop: 'a' })).toBe(0);
  expect(await client.ask('stock.count', { shop: 'a' })).toEqual(shown('microservice'));
  for (let count = 0; count < 7; count += 1) await client.tell('stock.sold', { shop: 'a', what: 'cup' });
  const { sold } = app.get(StockController);
  await until('they were handled', () => sold.length >= 5);
  expect(await client.ask('stock.count', { shop: 'b' })).toBe(5);
});
