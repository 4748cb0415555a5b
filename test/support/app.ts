import { afterEach } from '@jest/globals';
import type { DynamicModule, Type } from '@nestjs/common';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test, type TestingModule, type TestingModuleBuilder } from '@nestjs/testing';
import type { AdapterName } from './adapters.js';

export { type AdapterName, adapters } from './adapters.js';

export type App = NestFastifyApplication | NestExpressApplication;

export interface RunningApp {
  readonly app: App;
  readonly url: string;
  /** A real request over real HTTP. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Ends it before the test does. */
  close(): Promise<void>;
}

export interface StartOptions {
  /** To change the module before it is compiled, such as `overrideProvider`. */
  readonly module?: (builder: TestingModuleBuilder) => TestingModuleBuilder;
  /** To set the application up before it listens. */
  readonly app?: (app: App) => void;
  /** Whom the adapter believes about the client's address: Fastify's `trustProxy`, Express' `trust proxy`. */
  readonly trustProxy?: string[] | number | boolean;
  /** Where it listens: 127.0.0.1 unless said otherwise. */
  readonly host?: string;
}

const running = new Set<RunningApp>();

// Also after a test that failed half-way, so that no server outlives it.
afterEach(async () => {
  await Promise.all([...running].map((each) => each.close()));
});

/** Starts an application on a free port of the loopback address. What fails at boot rejects here. */
export async function startApp(
  rootModule: Type | DynamicModule,
  adapter: AdapterName,
  options: StartOptions = {},
): Promise<RunningApp> {
  const builder = Test.createTestingModule({ imports: [rootModule] });
  const compiled = await (options.module?.(builder) ?? builder).compile();
  const app =
    adapter === 'fastify' ? onFastify(compiled, options.trustProxy) : onExpress(compiled, options.trustProxy);
  options.app?.(app);
  await app.listen(0, options.host ?? '127.0.0.1');
  const url = await app.getUrl();
  const started: RunningApp = {
    app,
    url,
    fetch: (path, init) => fetch(`${url}${path}`, init),
    close: async () => {
      running.delete(started);
      await app.close();
    },
  };
  running.add(started);
  return started;
}

function onFastify(compiled: TestingModule, trustProxy: StartOptions['trustProxy']): App {
  // A number is not among its types, and is for the tests that show what becomes of it.
  const adapter = new FastifyAdapter(trustProxy === undefined ? {} : { trustProxy: trustProxy as string[] });
  return compiled.createNestApplication<NestFastifyApplication>(adapter);
}

function onExpress(compiled: TestingModule, trustProxy: StartOptions['trustProxy']): App {
  const app = compiled.createNestApplication<NestExpressApplication>(new ExpressAdapter());
  if (trustProxy !== undefined) app.set('trust proxy', trustProxy);
  return app;
}
