import type { DynamicModule, Type } from '@nestjs/common';
import {
  type Identify,
  type ModuleExtras,
  RateLimit,
  type RateLimitContext,
  type RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  SkipRateLimit,
} from 'nestjs-valkey-rate-limit';
import { startApp, type AdapterName, type RunningApp, type StartOptions } from './app.js';

/*
 * The sample registers its policies for the whole program, so TypeScript refuses every other name. Tests have others,
 * and mistakes on purpose.
 */
type Loose = (...args: unknown[]) => ClassDecorator & MethodDecorator;

/** `@RateLimit` with any arguments. */
export const Limit = RateLimit as unknown as Loose;

/** `@SkipRateLimit` with any arguments. */
export const Skip = SkipRateLimit as unknown as Loose;

/** The service with any policy's name. */
export type LooseLimiter = {
  [Name in 'consume' | 'peek' | 'reset']: (
    policy: string,
    options: Parameters<RateLimiter[Name]>[1],
  ) => ReturnType<RateLimiter[Name]>;
};

/** The module's options with plans that the sample does not have. */
export type LooseOptions = Omit<RateLimitModuleOptions, 'identify'> &
  Partial<ModuleExtras> & {
    identify?: Omit<Identify, 'plan'> & { plan?: (context: RateLimitContext) => unknown };
  };

export interface LittleModule extends Pick<DynamicModule, 'controllers' | 'providers' | 'imports'> {
  /** The options of `RateLimitModule.forRoot`. Left out: no rate limit module. */
  readonly limits?: unknown;
}

/** A root module that was written for one test. */
export function little({ limits, imports = [], ...rest }: LittleModule): DynamicModule {
  class LittleRoot {}
  const own = limits === undefined ? [] : [RateLimitModule.forRoot(limits as RateLimitModuleOptions)];
  return { module: LittleRoot, imports: [...own, ...imports], ...rest };
}

/** Starts an application with one controller or several. */
export function startLittle(
  adapter: AdapterName,
  limits: LooseOptions,
  controllers: Type[],
  options?: StartOptions,
): Promise<RunningApp> {
  return startApp(little({ limits, controllers }), adapter, options);
}

/** The statuses of the same request, sent one after the other. */
export async function statuses(
  app: RunningApp,
  path: string,
  times: number,
  init?: RequestInit,
): Promise<number[]> {
  const seen: number[] = [];
  for (let count = 0; count < times; count += 1) seen.push((await app.fetch(path, init)).status);
  return seen;
}

/** A window that no test outlives, for a fixed window whose edges are years apart. */
export const LONG = '3650d';
