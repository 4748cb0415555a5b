import { afterEach } from '@jest/globals';
import type { DynamicModule, Type } from '@nestjs/common';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';

export type AdapterName = 'fastify' | 'express';
export type App = NestFastifyApplication | NestExpressApplication;

export const adapters: readonly AdapterName[] = ['fastify', 'express'];

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
    adapter === 'fastify'
      ? compiled.createNestApplication<NestFastifyApplication>(new FastifyAdapter())
      : compiled.createNestApplication<NestExpressApplication>(new ExpressAdapter());
  options.app?.(app);
  await app.listen(0, '127.0.0.1');
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
