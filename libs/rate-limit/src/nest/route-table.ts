import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { type DiscoveryService, MetadataScanner, type ModulesContainer } from '@nestjs/core';
import { RateLimitConfigError, show } from '../decision/config-error.js';
import type { FailureMode } from '../decision/decision.js';
import { OptionReader } from '../decision/option-reader.js';
import { holdsPlaces } from '../limiter/engine.js';
import type { LimiterLog } from '../limiter/outage.js';
import { type Policy, readCost } from '../limiter/policy.js';
import { unknownPolicy } from '../limiter/checks.js';
import { checkKey, checkNeeds, checkPlan } from './check-key.js';
import type { ContextOptions, RateLimitContext, RateLimitRequest } from './context.js';
import { readSkipped, readUses, type Use } from './decorators.js';
import { InlinePolicies } from './inline-policies.js';
import { IDENTITY_PARTS, type IdentityPart } from './known.js';
import { NobodyWatch } from './nobody-watch.js';
import type { Authentication } from './options.js';
import { type RoutePolicy, toRoutePolicy } from './route-policy.js';
import { describePlace, type HandlerPlace, mountsOf, type Place, routeId, targetOf } from './route-name.js';

/** What is decided together, and what has to be known for it of whoever is behind the request. */
export interface Stage {
  readonly policies: readonly RoutePolicy[];
  readonly needs: readonly IdentityPart[];
}

/** What applies to one handler. */
export interface Route {
  /** What keys call it. */
  readonly id: string;
  readonly place: HandlerPlace;
  /** Decided before the guards of controllers and handlers have run. */
  readonly before: Stage;
  /** Decided when they have, where they authenticate. */
  readonly after: Stage;
  /** Whether all of it is known from the head of a request alone. */
  readonly early: boolean;
  /** Whether it was written to answer OPTIONS, and so CORS preflights. */
  readonly answersOptions: boolean;
}

export interface RouteTableOptions extends ContextOptions {
  readonly policies: ReadonlyMap<string, Policy<RateLimitContext>>;
  readonly everyRoute: readonly string[];
  readonly onStoreFailure: FailureMode;
}

/**
 * Which policies apply to which handler: merged once, when the application boots, from `everyRoute`, the class and
 * the handler, so that a request costs two look-ups.
 */
export class RouteTable {
  readonly #routes = new Map<object, Map<object, Route>>();
  readonly #scanner = new MetadataScanner();
  readonly #nobody: NobodyWatch;
  #inline: InlinePolicies;

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly modules: ModulesContainer,
    private readonly options: RouteTableOptions,
    /** Where it takes place. */
    readonly authentication: Authentication,
    log: LimiterLog,
  ) {
    this.#nobody = new NobodyWatch(authentication, (line) => log.warn(line));
    this.#inline = new InlinePolicies([], options.policies, options.onStoreFailure);
  }

  /** Every route that something applies to, in the order in which controllers and handlers were found. */
  routes(): readonly Route[] {
    return [...this.#routes.values()].flatMap((byHandler) => [...byHandler.values()]);
  }

  find(controller: object, handler: object): Route | undefined {
    return this.#routes.get(controller)?.get(handler);
  }

  /**
   * Reads every decorator of the application.
   *
   * @throws {RateLimitConfigError} for the first that cannot work, with the handler's name
   */
  build(): void {
    for (const provider of classesOf(this.discovery.getProviders())) {
      for (const place of [{ controller: provider }, ...this.#methodsOf(provider)]) {
        refuseDecorated(place, 'Inject RateLimiter and call consume() here instead.');
      }
    }
    const classes = classesOf(this.discovery.getControllers()).map((controller): Place => ({ controller }));
    const handlers = classes.flatMap(({ controller }) => this.#handlersOf(controller));
    const { policies, onStoreFailure } = this.options;
    for (const [name, policy] of policies) checkKey(`policy "${name}"`, policy.key, this.options);
    this.#inline = new InlinePolicies([...classes, ...handlers], policies, onStoreFailure);
    for (const place of [...classes, ...handlers]) this.#check(place);
    for (const place of handlers) this.#addRoute(place);
  }

  /** Only handlers of HTTP routes pass the guard: a decorator on another method would limit nothing. */
  #handlersOf(controller: Type): HandlerPlace[] {
    const [handlers, others]: [HandlerPlace[], HandlerPlace[]] = [[], []];
    for (const place of this.#methodsOf(controller)) {
      (Reflect.hasMetadata(PATH_METADATA, targetOf(place)) ? handlers : others).push(place);
    }
    for (const place of others) refuseDecorated(place, 'Put it on the handler.');
    return handlers;
  }

  #methodsOf(controller: Type): HandlerPlace[] {
    const prototype = controller.prototype as Record<string, object>;
    return this.#scanner
      .getAllMethodNames(prototype)
      .map((name) => ({ controller, handler: { name, method: prototype[name]! } }));
  }

  /** What a class or handler says has to be right, whether there is a route that it applies to or not. */
  #check(place: Place): void {
    const uses = readUses(targetOf(place));
    for (const use of uses) this.#routePolicy(place, use);
    const names = uses.map(({ policy }) => policy);
    const repeated = names.find((name, index) => names.indexOf(name) !== index);
    if (repeated !== undefined) {
      throw new RateLimitConfigError(
        'REPEATED_POLICY',
        describePlace(place),
        `@RateLimit names ${show(repeated)} twice. A policy applies once to a request; use cost to take more.`,
      );
    }
    const skipped = readSkipped(targetOf(place));
    if (skipped === 'all') return;
    const { policies } = this.options;
    const wrong = skipped.findIndex((name) => !policies.has(name as string) && !this.#inline.has(name));
    if (wrong === -1) return;
    throw unknownPolicy(`@SkipRateLimit at ${describePlace(place)}`, skipped[wrong], policies.keys());
  }

  #addRoute(place: HandlerPlace): void {
    const owner: Place = { controller: place.controller };
    const [ofClass, ofHandler] = [targetOf(owner), targetOf(place)];
    // What is said later, and closer to the handler, says how a policy is used there.
    const merged = new Map<string, RoutePolicy>();
    for (const [from, uses] of [
      [owner, this.options.everyRoute.map((policy): Use => ({ policy }))],
      [owner, readUses(ofClass)],
      [place, readUses(ofHandler)],
    ] as const) {
      for (const use of uses) {
        const routePolicy = this.#routePolicy(from, use);
        merged.set(routePolicy.policy.name, routePolicy);
      }
    }
    const skips = [readSkipped(ofClass), readSkipped(ofHandler)];
    const policies = [...merged.values()].filter(({ policy: { name } }) => {
      return !skips.some((names) => names === 'all' || names.includes(name));
    });
    if (policies.length === 0) return;
    const answersOptions = Reflect.getMetadata(METHOD_METADATA, ofHandler) === RequestMethod.OPTIONS;
    const byHandler = this.#routes.get(place.controller) ?? new Map<object, Route>();
    const id = routeId(place, mountsOf(place.controller, this.modules));
    const before = toStage(policies.filter(({ waits }) => !waits));
    const after = toStage(policies.filter(({ waits }) => waits));
    const early = policies.every((policy) => policy.early);
    this.#routes.set(
      place.controller,
      byHandler.set(ofHandler, { id, place, before, after, early, answersOptions }),
    );
  }

  #routePolicy(place: Place, { policy: named, use }: Use): RoutePolicy {
    const policy =
      typeof named === 'object' && named !== null
        ? this.#inline.find(place, named)!
        : this.#configured(place, named);
    if (holdsPlaces(policy.rule)) {
      throw new RateLimitConfigError(
        'CONCURRENCY_ON_ROUTE',
        describePlace(place),
        `policy "${policy.name}" counts by concurrency, and nothing would give its places back at the end of a request. ` +
          'Inject RateLimiter, and call consume() and release() around the work.',
      );
    }
    checkKey(describePlace(place), policy.key, this.options);
    checkPlan(describePlace(place), policy, this.options);
    let cost = policy.cost;
    if (use !== undefined) {
      const options = new OptionReader(`@RateLimit at ${describePlace(place)}`, use);
      cost = readCost(options, policy.cost);
      options.done();
    }
    checkNeeds(describePlace(place), cost);
    return toRoutePolicy(policy, cost, this.options, this.authentication, this.#nobody);
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
}

/**
 * Whether a request is a CORS preflight that the route was written to answer: it asks for permission on behalf of one
 * that will be counted itself. Behind a handler for every method, a client that says it is a preflight would run it
 * without a limit. With `enableCors`, adapters answer preflights before any guard.
 */
export function isSpared({ method, headers }: RateLimitRequest, { answersOptions }: Route): boolean {
  return answersOptions && method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

function toStage(policies: readonly RoutePolicy[]): Stage {
  const needs = new Set(policies.flatMap((policy) => policy.needs));
  return { policies, needs: IDENTITY_PARTS.filter((part) => needs.has(part)) };
}

function classesOf(wrappers: ReturnType<DiscoveryService['getControllers']>): Type[] {
  const classes = wrappers
    .map(({ metatype }) => metatype)
    .filter((metatype) => typeof metatype === 'function');
  // A factory is a function as well, but has no methods to decorate.
  return [...new Set(classes as Type[])].filter((metatype) => typeof metatype.prototype === 'object');
}

function refuseDecorated(place: Place, mend: string): void {
  const target = targetOf(place);
  if (readUses(target).length === 0 && readSkipped(target).length === 0) return;
  throw new RateLimitConfigError(
    'NOT_A_ROUTE',
    describePlace(place),
    `@RateLimit and @SkipRateLimit work on controllers and their HTTP handlers, and have no effect here. ${mend}`,
  );
}
