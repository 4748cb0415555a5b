import type { Type } from '@nestjs/common';
import { type DiscoveryService, MetadataScanner } from '@nestjs/core';
import { RateLimitConfigError } from '../decision/config-error.js';
import type { ContextAdapter } from './contexts/context-adapter.js';
import { contexts } from './contexts/index.js';
import { readSkipped, readUses } from './decorators.js';
import {
  classText,
  describePlace,
  type HandlerPlace,
  type NamedPlace,
  type Place,
  targetOf,
} from './route-name.js';

/** A handler, with the kinds of calls that it has. */
export interface Handler extends HandlerPlace, NamedPlace {
  readonly handler: HandlerPlace['handler'];
  readonly contexts: readonly ContextAdapter[];
}

/** Where policies can be written in an application. */
export interface Handlers {
  readonly classes: readonly NamedPlace[];
  readonly handlers: readonly Handler[];
}

type Wrappers = ReturnType<DiscoveryService['getControllers']>;

const scanner = new MetadataScanner();

/**
 * Every handler of an application and their classes, in the order in which they are found.
 *
 * @throws {RateLimitConfigError} for a decorator elsewhere, which would limit nothing
 */
export function findHandlers(discovery: DiscoveryService): Handlers {
  const providers = classesOf(discovery.getProviders()).flatMap((provider) => {
    const handlers = handlersOf(provider, 'providers', CONSUME);
    if (handlers.length > 0) return { provider, handlers };
    refuseDecorated({ controller: provider }, CONSUME);
    return [];
  });
  const controllers = classesOf(discovery.getControllers());
  const ofControllers = controllers.flatMap((controller) =>
    handlersOf(controller, 'controllers', 'Put it on the handler.'),
  );
  const classes = [...controllers, ...providers.map(({ provider }) => provider)];
  return {
    classes: classes.map((controller) => ({ controller, text: classText(controller) })),
    handlers: [...ofControllers, ...providers.flatMap(({ handlers }) => handlers)],
  };
}

const CONSUME = 'Inject RateLimiter and call consume() here instead.';

/** Only handlers pass the guard: a decorator on another method would limit nothing. */
function handlersOf(controller: Type, classes: ContextAdapter['classes'], mend: string): Handler[] {
  const possible = contexts.filter((context) => context.classes === classes);
  return methodsOf(controller).flatMap((place): Handler[] => {
    const its = possible.filter((context) => context.handles(place));
    if (its.length > 0) return [{ ...place, text: its[0]!.textOf(place), contexts: its }];
    const why = possible.flatMap((context) => context.unfit?.(place) ?? []);
    refuseDecorated(place, why[0] ?? mend);
    return [];
  });
}

/** Every method of a class, whether it is a handler or not. */
export function methodsOf(controller: Type): HandlerPlace[] {
  const prototype = controller.prototype as Record<string, object>;
  return scanner
    .getAllMethodNames(prototype)
    .map((name) => ({ controller, handler: { name, method: prototype[name]! } }));
}

/** Nest finds handlers of GraphQL also on what a factory makes, which only the object itself tells. */
function classesOf(wrappers: Wrappers): Type[] {
  const classes = wrappers.map(({ isNotMetatype, instance, metatype }): unknown =>
    isNotMetatype && isObject(instance) ? Object.getPrototypeOf(instance)?.constructor : metatype,
  );
  // A factory is a function as well, but has no methods to decorate.
  return [...new Set(classes)].filter(
    (each): each is Type => typeof each === 'function' && isObject(each.prototype) && each !== Object,
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function refuseDecorated(place: Place, mend: string): void {
  const target = targetOf(place);
  if (readUses(target).length === 0 && readSkipped(target).length === 0) return;
  throw notARoute(place, mend);
}

/** For a decorator that has no effect where it is. */
export function notARoute(place: Place, mend: string): RateLimitConfigError {
  return new RateLimitConfigError(
    'NOT_A_ROUTE',
    describePlace(place),
    '@RateLimit and @SkipRateLimit work on the handlers of HTTP routes, GraphQL operations, gateways and message patterns, ' +
      `and on their classes, and have no effect here. ${mend}`,
  );
}
