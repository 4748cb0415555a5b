import {
  ConfigurableModuleBuilder,
  type DynamicModule,
  Inject,
  Logger,
  Module,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import {
  APP_GUARD,
  DiscoveryModule,
  DiscoveryService,
  HttpAdapterHost,
  ModulesContainer,
} from '@nestjs/core';
import { RateLimitConfigError } from '../decision/config-error.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import { MemoryStore } from '../storage/memory/memory-store.js';
import type { Store } from '../storage/store.js';
import { compileOptions, type CompiledOptions } from './compile-options.js';
import type { RateLimitModuleOptions } from './options.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RouteTable } from './route-table.js';

const COMPILED = Symbol('nestjs-valkey-rate-limit:compiled-options');
const STORE = Symbol('nestjs-valkey-rate-limit:store');

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<RateLimitModuleOptions>()
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createRateLimitOptions')
    .build();

/**
 * Limits an application. Import it once, in the root module; {@link RateLimiter} can then be injected everywhere.
 *
 * @example
 * ```ts
 * RateLimitModule.forRoot({
 *   valkey: 'valkey://127.0.0.1:6379',
 *   policies: { api: { algorithm: 'token-bucket', limit: 100, window: '1m' } },
 *   everyRoute: ['api'],
 * })
 * ```
 */
@Module({
  imports: [DiscoveryModule],
  providers: [
    { provide: COMPILED, inject: [MODULE_OPTIONS_TOKEN], useFactory: compileOptions },
    { provide: STORE, inject: [COMPILED], useFactory: createStore },
    { provide: RateLimiter, inject: [STORE, COMPILED], useFactory: createLimiter },
    {
      provide: RouteTable,
      inject: [DiscoveryService, COMPILED],
      useFactory: (discovery: DiscoveryService, compiled: CompiledOptions) =>
        new RouteTable(discovery, compiled),
    },
    {
      provide: RateLimitGuard,
      inject: [RouteTable, RateLimiter, HttpAdapterHost, COMPILED],
      useFactory: (
        routes: RouteTable,
        limiter: RateLimiter,
        host: HttpAdapterHost,
        compiled: CompiledOptions,
      ) => new RateLimitGuard(routes, limiter, host, compiled),
    },
    { provide: APP_GUARD, useExisting: RateLimitGuard },
  ],
  exports: [RateLimiter, RateLimitGuard],
})
export class RateLimitModule extends ConfigurableModuleClass implements OnModuleInit, OnApplicationShutdown {
  constructor(
    @Inject(RouteTable) private readonly routes: RouteTable,
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {
    super();
  }

  /** @throws {RateLimitConfigError} when the application boots, for whatever cannot work */
  static override forRoot<Name extends string>(options: RateLimitModuleOptions<Name>): DynamicModule {
    return { ...super.forRoot(options as RateLimitModuleOptions), global: true };
  }

  /** The same with options that have to be made: `useFactory` with `inject` and `imports`, `useClass` or `useExisting`. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    return { ...super.forRootAsync(options), global: true };
  }

  /** Everything that is wrong is found before the first connection is opened. */
  async onModuleInit(): Promise<void> {
    this.#refuseTwo();
    this.routes.build();
    await this.limiter.open();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.limiter.close();
  }

  #refuseTwo(): void {
    const instances = [...this.modules.values()].filter(({ metatype }) => metatype === RateLimitModule);
    if (instances.length < 2) return;
    throw new RateLimitConfigError(
      'TWO_MODULES',
      'RateLimitModule',
      'forRoot or forRootAsync was called twice. Import the module once, in the root module, with all policies: ' +
        'RateLimiter and the guard are there for every module.',
    );
  }
}

/** The client is loaded only by those who use it. */
async function createStore({ valkey, deadlineMs }: CompiledOptions): Promise<Store> {
  if (valkey === undefined) return new MemoryStore();
  const { connect, ValkeyStore } = await import('../storage/valkey/index.js');
  return new ValkeyStore(connect(valkey), { deadlineMs });
}

function createLimiter(store: Store, { policies, prefix }: CompiledOptions): RateLimiter {
  return new RateLimiter({ store, policies, prefix, log: new Logger('RateLimit') });
}
