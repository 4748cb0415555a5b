import {
  ConfigurableModuleBuilder,
  type DynamicModule,
  Inject,
  Logger,
  Module,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { APP_GUARD, DiscoveryModule, DiscoveryService, ModulesContainer } from '@nestjs/core';
import { RateLimitConfigError } from '../decision/config-error.js';
import { Engine } from '../limiter/engine.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import { COMPILED_OPTIONS, compileOptions, type CompiledOptions } from './compile-options.js';
import { createEngine } from './create-limiter.js';
import type { RateLimitModuleOptions } from './options.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RateLimitHealth } from './rate-limit.health.js';
import { RouteTable } from './route-table.js';

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
    // Optional, so that an import without options is explained by us and not by the injector.
    {
      provide: COMPILED_OPTIONS,
      inject: [{ token: MODULE_OPTIONS_TOKEN, optional: true }],
      useFactory: compileOptions,
    },
    { provide: Engine, inject: [COMPILED_OPTIONS], useFactory: createEngine },
    {
      provide: RateLimiter,
      inject: [Engine, COMPILED_OPTIONS],
      useFactory: (engine: Engine, { policies }: CompiledOptions) => new RateLimiter(engine, policies),
    },
    {
      provide: RouteTable,
      inject: [DiscoveryService, COMPILED_OPTIONS],
      useFactory: (discovery: DiscoveryService, compiled: CompiledOptions) =>
        new RouteTable(discovery, compiled),
    },
    RateLimitGuard,
    RateLimitHealth,
    { provide: APP_GUARD, useExisting: RateLimitGuard },
  ],
  // All that the guard needs as well, because Nest makes another one wherever it is bound by hand.
  exports: [RateLimiter, RateLimitHealth, RateLimitGuard, RouteTable, Engine, COMPILED_OPTIONS],
})
export class RateLimitModule extends ConfigurableModuleClass implements OnModuleInit, OnApplicationShutdown {
  constructor(
    @Inject(RouteTable) private readonly routes: RouteTable,
    @Inject(Engine) private readonly engine: Engine,
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
    new Logger('RateLimit').log(`Counting in ${this.engine.place}.`);
    await this.engine.open();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.engine.close();
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
