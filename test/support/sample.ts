import { beforeAll, beforeEach } from '@jest/globals';
import type { DynamicModule, FactoryProvider } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import type { Redis } from 'iovalkey';
import type { RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { AppModule } from '../../apps/api/src/app.module.js';
import { type AdapterName, adapters, type RunningApp, startApp, type StartOptions } from './app.js';
import { lookInto } from './client.js';
import { ownValkey } from './valkey.js';

export type SampleStore = 'memory' | 'valkey';

export interface SampleOptions {
  /** Where to count. Left out: memory. */
  readonly valkey?: string | undefined;
  readonly adminToken?: string;
  /** Left out: the store's own. */
  readonly clock?: () => number;
  readonly app?: StartOptions['app'];
}

/** For a request of a tenant. */
export const as = (tenant: string): RequestInit => ({ headers: { 'x-api-key': `${tenant}-demo-key` } });

/** For a request with a body. */
export function json(
  method: 'POST' | 'PUT',
  body: unknown,
  headers: Record<string, string> = {},
): RequestInit {
  return { method, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

/** Every adapter with every store. */
export const sampleCases = adapters.flatMap((adapter) =>
  (['memory', 'valkey'] as const).map((store) => [adapter, store] as const),
);

/** The provider of the options in the sample's `forRootAsync`. */
function optionsProvider(): FactoryProvider<RateLimitModuleOptions> {
  const imports = Reflect.getMetadata('imports', AppModule) as DynamicModule[];
  const providers = imports.flatMap(({ providers: own = [] }) => own) as FactoryProvider[];
  return providers.find(({ useFactory }) => typeof useFactory === 'function')!;
}

/**
 * Starts the sample as it is, but with a longer deadline and without shedding: a machine that is busy with other tests may
 * well need more than 50 ms, and look saturated. What becomes of a request then is another test's subject.
 */
export async function startSample(adapter: AdapterName, options: SampleOptions = {}): Promise<RunningApp> {
  const { provide, useFactory, inject = [] } = optionsProvider();
  const changes = {
    deadline: '5s',
    shed: undefined,
    ...(options.clock && { clock: options.clock }),
  } as const;
  const factory = (...given: unknown[]) => ({ ...useFactory(...given), ...changes });
  const before = setEnvironment({ VALKEY_URL: options.valkey, ADMIN_TOKEN: options.adminToken });
  try {
    return await startApp(AppModule, adapter, {
      module: (builder) => builder.overrideProvider(provide).useFactory({ factory, inject }),
      app: (app) => {
        app.useWebSocketAdapter(new WsAdapter(app));
        options.app?.(app);
      },
    });
  } finally {
    setEnvironment(before);
  }
}

/** Starts samples in a test file with a Valkey of its own, which is empty when a test begins. */
export function samples(): {
  readonly client: Redis;
  start(adapter: AdapterName, store: SampleStore, options?: SampleOptions): Promise<RunningApp>;
} {
  let url: string;
  let client: Redis;
  beforeAll(async () => {
    ({ url } = await ownValkey());
    client = lookInto(url);
  });
  beforeEach(() => client.flushall());
  return {
    get client() {
      return client;
    },
    start: (adapter, store, options = {}) =>
      startSample(adapter, { ...options, valkey: store === 'valkey' ? url : undefined }),
  };
}

/** @returns what was there before */
function setEnvironment(values: Record<string, string | undefined>): Record<string, string | undefined> {
  const before = Object.fromEntries(Object.keys(values).map((name) => [name, process.env[name]]));
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  return before;
}
