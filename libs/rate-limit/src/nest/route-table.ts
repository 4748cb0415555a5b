import type { Type } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { type DiscoveryService, MetadataScanner } from '@nestjs/core';
import { RateLimitConfigError, show } from '../decision/config-error.js';
import type { FailureMode } from '../decision/decision.js';
import { OptionReader } from '../decision/option-reader.js';
import type { HeaderDialect } from '../http/header-dialect.js';
import { type Cost, type Policy, compilePolicy, readCost } from '../limiter/policy.js';
import { unknownPolicy } from '../limiter/rate-limiter.js';
import type { RateLimitContext } from './context.js';
import { readSkipped, readUses, type Use } from './decorators.js';
import { key, type KeyResolver } from './key.js';
import { describePlace, type Place, routeDigest, routeName } from './route-name.js';

/** A policy on a route, with all that can be known of it before a request comes. */
export interface RoutePolicy {
  readonly policy: Policy<RateLimitContext>;
  readonly key: KeyResolver;
  readonly cost: Cost<RateLimitContext>;
  /** What the header dialect says of the policy. */
  readonly description: string;
}

/** What applies to one handler. */
export type Route = readonly RoutePolicy[];

export interface RouteTableOptions {
  readonly policies: ReadonlyMap<string, Policy<RateLimitContext>>;
  readonly everyRoute: readonly string[];
  readonly onStoreFailure: FailureMode;
  readonly dialect: HeaderDialect | undefined;
}

interface InlinePlace {
  readonly place: Place;
  readonly policy: object;
}

const defaultKey = key.ip();

/**
 * Which policies apply to which handler: merged once, when the application boots, from `everyRoute`, the class and
 * the handler, so that a request costs two look-ups.
 */
export class RouteTable {
  readonly #routes = new Map<object, Map<object, Route>>();
  readonly #scanner = new MetadataScanner();
  readonly #inline = new Map<object, Map<Type, Policy<RateLimitContext>>>();
  readonly #inlineNames = new Set<string>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly options: RouteTableOptions,
  ) {}

  find(controller: object, handler: object): Route | undefined {
    return this.#routes.get(controller)?.get(handler);
  }

  /**
   * Reads every decorator of the application.
   *
   * @throws {RateLimitConfigError} for the first that cannot work, with the handler's name
   */
  build(): void {
    const controllers = classesOf(this.discovery.getControllers());
    this.#refuseElsewhere(classesOf(this.discovery.getProviders()));
    const places = controllers.flatMap((controller) => this.#placesOf(controller));
    this.#compileInline(controllers.map((controller): Place => ({ controller })).concat(places));
    for (const place of places) this.#addRoute(place);
  }

  /** Only controllers' routes pass the guard as HTTP: a decorator elsewhere would limit nothing. */
  #refuseElsewhere(providers: readonly Type[]): void {
    for (const controller of providers) {
      const places: Place[] = [{ controller }, ...this.#handlersOf(controller)];
      const decorated = places.find((place) => readUses(targetOf(place)).length > 0);
      if (decorated === undefined) continue;
      throw new RateLimitConfigError(
        'NOT_A_ROUTE',
        describePlace(decorated),
        '@RateLimit works on the HTTP handlers of controllers. Inject RateLimiter and call consume() here instead.',
      );
    }
  }

  #placesOf(controller: Type): Place[] {
    const [routes, others] = [[] as Place[], [] as Place[]];
    for (const place of this.#handlersOf(controller)) {
      (Reflect.hasMetadata(PATH_METADATA, place.handler!.method) ? routes : others).push(place);
    }
    const decorated = others.find((place) => readUses(place.handler!.method).length > 0);
    if (decorated === undefined) return routes;
    throw new RateLimitConfigError(
      'NOT_A_ROUTE',
      describePlace(decorated),
      '@RateLimit is on a method that is no HTTP handler and would limit nothing. Put it on the handler.',
    );
  }

  #handlersOf(controller: Type): Place[] {
    const prototype = controller.prototype as Record<string, object>;
    return this.#scanner
      .getAllMethodNames(prototype)
      .map((name) => ({ controller, handler: { name, method: prototype[name]! } }));
  }

  /** Names what was written at classes and handlers, unlike each other and unlike every configured policy. */
  #compileInline(places: readonly Place[]): void {
    const inline = places.flatMap((place) => {
      const policies = readUses(targetOf(place)).map(({ policy }) => policy);
      return policies
        .filter((policy) => typeof policy === 'object' && policy !== null)
        .map((policy) => ({ place, policy }));
    });
    const named = inline.filter(({ policy }) => writtenName(policy) !== undefined);
    for (const each of named) this.#addInline(each, this.#requireFree(each));
    const unnamed = inline.filter(({ policy }) => writtenName(policy) === undefined);
    const times = new Map<string, number>();
    for (const { place } of unnamed) times.set(routeName(place), (times.get(routeName(place)) ?? 0) + 1);
    for (const each of unnamed) {
      const name = routeName(each.place);
      const alone = times.get(name) === 1 && !this.#isTaken(name);
      this.#addInline(each, alone ? name : this.#distinctName(each.place));
    }
  }

  #distinctName(place: Place): string {
    const base = `${routeName(place)}-${routeDigest(place)}`;
    // Several on one handler are told apart by their order there.
    for (let count = 1; ; count += 1) {
      const name = count === 1 ? base : `${base}-${count}`;
      if (!this.#isTaken(name)) return name;
    }
  }

  #requireFree({ place, policy }: InlinePlace): string {
    const name = writtenName(policy)!;
    if (typeof name === 'string' && !this.#isTaken(name)) return name;
    throw new RateLimitConfigError(
      'DUPLICATE_NAME',
      describePlace(place),
      `there is another policy ${show(name)}. Give this one a name of its own, or configure the policy in the ` +
        'module and name it at both places.',
    );
  }

  #isTaken(name: string): boolean {
    return this.options.policies.has(name) || this.#inlineNames.has(name);
  }

  #addInline({ place, policy }: InlinePlace, name: string): void {
    const { name: _, ...written } = policy as { name?: unknown };
    const compiled = compilePolicy<RateLimitContext>(
      name,
      `@RateLimit at ${describePlace(place)}`,
      written,
      this.options.onStoreFailure,
    );
    this.#inlineNames.add(name);
    const byController = this.#inline.get(policy) ?? new Map<Type, Policy<RateLimitContext>>();
    this.#inline.set(policy, byController.set(place.controller, compiled));
  }

  #addRoute(place: Place): void {
    const { controller, handler } = place;
    const uses: Use[] = [
      ...this.options.everyRoute.map((policy) => ({ policy })),
      ...readUses(controller),
      ...readUses(handler!.method),
    ];
    const skips = [readSkipped(controller), readSkipped(handler!.method)];
    for (const names of skips) if (names !== 'all') this.#requireKnown(place, names);
    const merged = new Map<string, RoutePolicy>();
    for (const use of uses) {
      const policy = this.#routePolicy(place, use);
      merged.set(policy.policy.name, policy);
    }
    this.#refuseRepeated(place);
    const route = [...merged.values()].filter(({ policy }) => {
      return !skips.some((names) => names === 'all' || names.includes(policy.name));
    });
    if (route.length === 0) return;
    const byHandler = this.#routes.get(controller) ?? new Map<object, Route>();
    this.#routes.set(controller, byHandler.set(handler!.method, route));
  }

  #routePolicy(place: Place, { policy: named, use }: Use): RoutePolicy {
    const policy =
      typeof named === 'object' && named !== null
        ? this.#inline.get(named)!.get(place.controller)!
        : this.#configured(place, named);
    let cost = policy.cost;
    if (use !== undefined) {
      const options = new OptionReader(`@RateLimit at ${describePlace(place)}`, use);
      cost = readCost(options, policy.cost);
      options.done();
    }
    return {
      policy,
      key: policy.key ?? defaultKey,
      cost,
      description: this.options.dialect?.describe({ name: policy.name, quota: policy.rule.quota }) ?? '',
    };
  }

  #configured(place: Place, name: unknown): Policy<RateLimitContext> {
    const policy = this.options.policies.get(name as string);
    if (policy !== undefined) return policy;
    if (name !== undefined) throw unknownPolicy(describePlace(place), name, this.options.policies.keys());
    throw new RateLimitConfigError(
      'NO_POLICY',
      describePlace(place),
      '@RateLimit() names no policy and would limit nothing. Name one, or write one there.',
    );
  }

  #requireKnown(place: Place, names: readonly unknown[]): void {
    const unknown = names.find((name) => !this.#isTaken(name as string));
    if (unknown === undefined) return;
    throw unknownPolicy(`@SkipRateLimit at ${describePlace(place)}`, unknown, this.options.policies.keys());
  }

  #refuseRepeated(place: Place): void {
    const names = readUses(place.handler!.method).map(({ policy }) => policy);
    const repeated = names.find((name, index) => names.indexOf(name) !== index);
    if (repeated === undefined) return;
    throw new RateLimitConfigError(
      'REPEATED_POLICY',
      describePlace(place),
      `@RateLimit names ${show(repeated)} twice. A policy applies once to a request; use cost to take more.`,
    );
  }
}

function classesOf(wrappers: ReturnType<DiscoveryService['getControllers']>): Type[] {
  const classes = wrappers
    .map(({ metatype }) => metatype)
    .filter((metatype) => typeof metatype === 'function');
  // A factory is a function as well, but has no methods to decorate.
  return [...new Set(classes as Type[])].filter((metatype) => typeof metatype.prototype === 'object');
}

function targetOf({ controller, handler }: Place): object {
  return handler?.method ?? controller;
}

function writtenName(policy: object): unknown {
  return (policy as { name?: unknown }).name;
}
