import {
  type BeforeApplicationShutdown,
  ConfigurableModuleBuilder,
  type DynamicModule,
  Inject,
  Logger,
  Module,
  type NestModule,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import {
  ApplicationConfig,
  APP_GUARD,
  APP_INTERCEPTOR,
  DiscoveryModule,
  DiscoveryService,
  HttpAdapterHost,
  ModulesContainer,
} from '@nestjs/core';
import { RateLimitConfigError, show } from '../decision/config-error.js';
import { requireObject } from '../decision/option-reader.js';
import { Engine } from '../limiter/engine.js';
import { LimitOverrides } from '../limiter/overrides.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import { Answers } from './answers.js';
import { CALL_ENDS } from './call-ends.js';
import { Watchers } from '../telemetry/watchers.js';
import { COMPILED_OPTIONS, compileOptions, type CompiledOptions } from './compile-options.js';
import { createEngine, watch } from './create-limiter.js';
import { describeRoutes } from './describe-routes.js';
import { EarlyAnswers } from './early-answers.js';
import { EarlyRefusal } from './early-refusal.js';
import { Leases } from './leases.js';
import { Passage } from './passage.js';
import { earlyRoutes } from './early-routes.js';
import { Opening } from './opening.js';
import type { Authentication, ModuleExtras, RateLimitModuleOptions } from './options.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RateLimitHealth } from './rate-limit.health.js';
import { RateLimitInterceptor } from './rate-limit.interceptor.js';
import { RequestLimiter } from './request-limiter.js';
import { RouteTable } from './route-table.js';
import { Settlements } from './settlements.js';
import { Shedder } from './shedder.js';
import { bindToHandlers, RpcGuard, RpcInterceptor } from './rpc-enhancers.js';

/** Under which it is provided where users are authenticated. */
const AUTHENTICATION = Symbol('nestjs-valkey-rate-limit:authentication');

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<RateLimitModuleOptions>()
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createRateLimitOptions')
    .setExtras<ModuleExtras>({ authentication: 'middleware' }, (definition, { authentication }) => ({
      ...definition,
      global: true,
      providers: [
        ...(definition.providers ?? []),
        { provide: AUTHENTICATION, useValue: checkAuthentication(authentication) },
        // Only for those who need it: one interceptor makes Nest wrap every handler.
        ...(authentication === 'guards'
          ? [
              RateLimitInterceptor,
              RpcInterceptor,
              { provide: APP_INTERCEPTOR, useExisting: RateLimitInterceptor },
            ]
          : []),
      ],
      exports: authentication === 'guards' ? [RateLimitInterceptor] : [],
    }))
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
    { provide: LimitOverrides, inject: [Engine], useFactory: ({ overrides }: Engine) => overrides },
    {
      provide: RateLimiter,
      inject: [Engine, COMPILED_OPTIONS, RouteTable, Watchers],
      useFactory: (engine: Engine, { policies }: CompiledOptions, routes: RouteTable, watchers: Watchers) =>
        new RateLimiter(engine, policies, watchers, () => describeRoutes(routes)),
    },
    {
      provide: Watchers,
      inject: [Engine, COMPILED_OPTIONS, Shedder],
      useFactory: (engine: Engine, compiled: CompiledOptions, shedder: Shedder) =>
        watch(engine, compiled, () => shedder.level / 100),
    },
    {
      provide: RouteTable,
      inject: [
        DiscoveryService,
        ModulesContainer,
        COMPILED_OPTIONS,
        { token: AUTHENTICATION, optional: true },
      ],
      useFactory: (
        discovery: DiscoveryService,
        modules: ModulesContainer,
        compiled: CompiledOptions,
        authentication: Authentication,
      ) => new RouteTable(discovery, modules, compiled, authentication, new Logger('RateLimit')),
    },
    Answers,
    EarlyAnswers,
    EarlyRefusal,
    Settlements,
    Leases,
    Passage,
    Shedder,
    { provide: CALL_ENDS, useExisting: Passage },
    RequestLimiter,
    RateLimitGuard,
    RpcGuard,
    Opening,
    RateLimitHealth,
    { provide: APP_GUARD, useExisting: RateLimitGuard },
  ],
  // All that the guard needs as well, because Nest makes another one wherever it is bound by hand.
  exports: [RateLimiter, LimitOverrides, RateLimitHealth, RateLimitGuard, RequestLimiter, CALL_ENDS, Opening],
})
export class RateLimitModule
  extends ConfigurableModuleClass
  implements
    NestModule,
    OnModuleInit,
    OnApplicationBootstrap,
    BeforeApplicationShutdown,
    OnApplicationShutdown
{
  constructor(
    @Inject(COMPILED_OPTIONS) private readonly options: CompiledOptions,
    @Inject(EarlyRefusal) private readonly early: EarlyRefusal,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
    @Inject(RouteTable) private readonly routes: RouteTable,
    @Inject(Engine) private readonly engine: Engine,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
    @Inject(Opening) private readonly opening: Opening,
    @Inject(Settlements) private readonly settlements: Settlements,
    @Inject(Leases) private readonly leases: Leases,
    @Inject(Shedder) private readonly shedder: Shedder,
    @Inject(Watchers) private readonly watchers: Watchers,
  ) {
    super();
    // Microservices may be connected as soon as every module is made.
    bindToHandlers(modules, RateLimitModule);
  }

  /** @throws {RateLimitConfigError} when the application boots, for whatever cannot work */
  static override forRoot<Name extends string>(
    options: RateLimitModuleOptions<Name> & Partial<ModuleExtras>,
  ): DynamicModule {
    // At once: Nest takes the extras off whatever it is given, and a list or a text would be an object then.
    requireObject('RateLimitModule', options);
    return super.forRoot(options as typeof OPTIONS_TYPE);
  }

  /** The same with options that have to be made: `useFactory` with `inject` and `imports`, `useClass` or `useExisting`. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    return super.forRootAsync(options);
  }

  /** Express takes requests in the order in which it was told of middleware and routes, which come next. */
  configure(): void {
    if (this.#earlyOn('express')) this.early.useMiddleware();
  }

  async onModuleInit(): Promise<void> {
    this.#refuseTwo();
    await this.opening.open();
  }

  /** Whatever else an application adds to Fastify, such as CORS, it has added by now, and to refusals as well. */
  onApplicationBootstrap(): void {
    this.opening.prepareServer();
    const adapter = (['express', 'fastify'] as const).find((name) => this.#earlyOn(name));
    if (adapter === undefined) return;
    const { config, modules } = this;
    const routes = earlyRoutes(this.routes.routes(), { adapter, config, modules, self: this });
    this.early.begin(routes);
    if (adapter === 'fastify' && routes.length > 0) this.early.addHook();
  }

  /** Before the server waits for its connections: those who wait for their turn get an answer. */
  beforeApplicationShutdown(): void {
    this.engine.turns.close();
  }

  async onApplicationShutdown(): Promise<void> {
    this.shedder.stop();
    await Promise.all([this.settlements.finish(), this.leases.finish()]);
    this.watchers.close();
    await this.engine.close();
  }

  #earlyOn(adapter: 'express' | 'fastify'): boolean {
    const { refuseIn, denyCacheMs } = this.options;
    // Without a deny cache nobody is known to be denied.
    if (refuseIn === 'guard' || denyCacheMs === undefined) return false;
    return this.host.httpAdapter?.getType() === adapter;
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

function checkAuthentication(written: unknown = 'middleware'): Authentication {
  if (written === 'middleware' || written === 'guards') return written;
  throw new RateLimitConfigError(
    'INVALID_AUTHENTICATION',
    'RateLimitModule',
    `authentication must be 'middleware' or 'guards', not ${show(written)}.`,
  );
}
