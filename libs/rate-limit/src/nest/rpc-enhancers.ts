import {
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
  Optional,
  type Type,
} from '@nestjs/common';
import { GUARDS_METADATA, INTERCEPTORS_METADATA } from '@nestjs/common/constants.js';
import type { ModulesContainer } from '@nestjs/core';
import type { Observable } from 'rxjs';
import { rpc } from './contexts/rpc.js';
import { readUses } from './decorators.js';
import { methodsOf } from './handlers.js';
import { Opening } from './opening.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RateLimitInterceptor } from './rate-limit.interceptor.js';
import { type HandlerPlace, targetOf } from './route-name.js';

/*
 * A microservice that is connected without `inheritAppConfig` has no global guards. What is bound to a handler itself
 * reaches every microservice, and a call that passes both counts once.
 *
 * It is bound as a class, which each application finds its own object of: decorators belong to the whole process, where
 * another application may use the same controllers, with another limiter or none. Hence all is optional.
 */

/** Decides messages and events. */
@Injectable()
export class RpcGuard implements CanActivate {
  constructor(
    @Optional() @Inject(RateLimitGuard) private readonly guard?: CanActivate,
    @Optional() @Inject(Opening) private readonly opening?: Opening,
  ) {}

  async canActivate(execution: ExecutionContext): Promise<boolean> {
    await this.opening?.open();
    return this.guard === undefined || (this.guard.canActivate(execution) as boolean | Promise<boolean>);
  }
}

/** With `authentication: 'guards'`: the second stage of the same. */
@Injectable()
export class RpcInterceptor implements NestInterceptor {
  constructor(
    @Optional() @Inject(RateLimitInterceptor) private readonly interceptor?: RateLimitInterceptor,
  ) {}

  intercept(
    execution: ExecutionContext,
    next: CallHandler,
  ): Observable<unknown> | Promise<Observable<unknown>> {
    return this.interceptor?.intercept(execution, next) ?? next.handle();
  }
}

const BOUND = [
  [RpcGuard, GUARDS_METADATA],
  [RpcInterceptor, INTERCEPTORS_METADATA],
] as const;

/**
 * Binds them to every decorated handler: to be called before listeners are made, and after modules were scanned.
 *
 * @param own the module that provides them
 */
export function bindToHandlers(modules: ModulesContainer, own: object): void {
  const provided = [...modules.values()].find(({ metatype }) => metatype === own)?.providers;
  for (const { controllers, injectables } of modules.values()) {
    const limited = [...controllers.values()].flatMap(({ metatype }) => limitedBy(metatype));
    for (const [enhancer, name] of BOUND) {
      const wrapper = provided?.get(enhancer);
      if (wrapper === undefined || limited.length === 0) continue;
      for (const place of limited) bindFirst(enhancer, name, targetOf(place));
      // Where Nest looks for it, and has put one itself if it was bound when modules were scanned.
      if (!injectables.has(enhancer)) injectables.set(enhancer, wrapper);
    }
  }
}

function limitedBy(controller: unknown): HandlerPlace[] {
  if (typeof controller !== 'function') return [];
  const handlers = methodsOf(controller as Type).filter((place) => rpc.handles(place));
  return handlers.filter((place) =>
    [controller, targetOf(place)].some((target) => readUses(target).length > 0),
  );
}

function bindFirst(enhancer: object, name: string, target: object): void {
  const bound = (Reflect.getMetadata(name, target) as readonly object[] | undefined) ?? [];
  if (!bound.includes(enhancer)) Reflect.defineMetadata(name, [enhancer, ...bound], target);
}
