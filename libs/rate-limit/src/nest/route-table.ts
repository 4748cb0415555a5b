import type { DiscoveryService, ModulesContainer } from '@nestjs/core';
import { RateLimitConfigError, show } from '../decision/config-error.js';
import type { FailureMode } from '../decision/decision.js';
import { OptionReader } from '../decision/option-reader.js';
import { holdsPlaces } from '../limiter/engine.js';
import type { LimiterLog } from '../limiter/outage.js';
import { type Policy, readCost } from '../limiter/policy.js';
import { unknownPolicy } from '../limiter/checks.js';
import { checkAsking, checkNeeds, checkPlan } from './check-key.js';
import { checkPassage } from './check-passage.js';
import type { ContextOptions, RateLimitContext, RateLimitRequest } from './context.js';
import type { ContextAdapter } from './contexts/context-adapter.js';
import { readSkipped, readUses, type Use } from './decorators.js';
import { findHandlers, type Handler, notARoute } from './handlers.js';
import { InlinePolicies } from './inline-policies.js';
import { IDENTITY_PARTS, type IdentityPart } from './known.js';
import { NobodyWatch } from './nobody-watch.js';
import type { Authentication } from './options.js';
import { type PolicyUse, type RoutePolicy, toRoutePolicy } from './route-policy.js';
import { describePlace, type HandlerPlace, mountsOf, type Place, targetOf } from './route-name.js';
import { type PriorityName, readPriority } from './priority.js';
import { readSettle } from './settle.js';
import { fleetOf, type Shedding } from './shed-options.js';

/** What is decided together, and what has to be known for it of whoever is behind the request. */
export interface Stage {
  readonly policies: readonly RoutePolicy[];
  readonly needs: readonly IdentityPart[];
  /** Whether some have lists of whom they skip or deny. */
  readonly isListed: boolean;
  /** Whether there is more to do for some than to decide: to wait, to hold places, or to settle. */
  readonly isFollowed: boolean;
  /** Whether some are settled when the call has ended. */
  readonly settles: boolean;
  /** Whether some hold places until the call has ended. */
  readonly holds: boolean;
}

/** What applies to one handler, as one kind of calls asks for it. */
export interface Route {
  readonly context: ContextAdapter;
  /** What keys call it. */
  readonly id: string;
  readonly place: HandlerPlace;
  /** Decided before the guards of controllers and handlers have run. */
  readonly before: Stage;
  /** Decided when they have, where they authenticate. */
  readonly after: Stage;
  /** Whether all of it is known from the head of an HTTP request alone. */
  readonly early: boolean;
  /** How important it is while some are refused. */
  readonly priority: PriorityName;
  /** Whether it was written to answer OPTIONS, and so CORS preflights. */
  readonly answersOptions: boolean;
}

export interface RouteTableOptions extends ContextOptions {
  readonly policies: ReadonlyMap<string, Policy<RateLimitContext>>;
  readonly everyRoute: readonly string[];
  readonly onStoreFailure: FailureMode;
  readonly deadlineMs: number;
  readonly shedding: Shedding | undefined;
}

/**
 * Which policies apply to which handler: merged once, when the application boots, from `everyRoute`, the class and
 * the handler, so that a request costs three look-ups.
 */
export class RouteTable {
  /** By type of context, class and handler. */
  readonly #routes = new Map<string, Map<object, Map<object, Route>>>();
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

  /** Every route that something applies to, in the order in which handlers were found. */
  routes(): readonly Route[] {
    const byClass = [...this.#routes.values()].flatMap((ofType) => [...ofType.values()]);
    return byClass.flatMap((byHandler) => [...byHandler.values()]);
  }

  /** The kinds of calls of which some are limited. */
  contexts(): readonly ContextAdapter[] {
    return [...new Set(this.routes().map(({ context }) => context))];
  }

  find(type: string, controller: object, handler: object): Route | undefined {
    return this.#routes.get(type)?.get(controller)?.get(handler);
  }

  /**
   * Reads every decorator of the application.
   *
   * @throws {RateLimitConfigError} for the first that cannot work, with the handler's name
   */
  build(): void {
    const { classes, handlers } = findHandlers(this.discovery);
    const { policies, onStoreFailure } = this.options;
    for (const [name, policy] of policies) checkAsking(`policy "${name}"`, policy, this.options);
    this.#inline = new InlinePolicies([...classes, ...handlers], policies, onStoreFailure);
    for (const place of [...classes, ...handlers]) this.#check(place);
    for (const place of handlers) for (const context of place.contexts) this.#addRoute(place, context);
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

  #addRoute(place: Handler, context: ContextAdapter): void {
    const priority = readPriority(targetOf(place), place.controller);
    const policies = [...this.#applying(place, context), ...this.#shedding(place, context, priority)];
    const isShed = this.options.shedding?.worker !== undefined && this.#isShed(place, context);
    if (policies.length === 0 && !isShed) return;
    const why = context.unfit?.(place);
    if (why !== undefined) throw notARoute(place, why);
    for (const { policy } of policies) checkPassage(describePlace(place), policy, context, this.options);
    const ofType = this.#routes.get(context.type) ?? new Map<object, Map<object, Route>>();
    const byHandler = ofType.get(place.controller) ?? new Map<object, Route>();
    byHandler.set(targetOf(place), {
      context,
      id: context.routeId(place, mountsOf(place.controller, this.modules)),
      place,
      before: toStage(policies.filter(({ waits }) => !waits)),
      after: toStage(policies.filter(({ waits }) => waits)),
      early: context.isRefusedEarly && policies.every((policy) => policy.early),
      priority: isShed ? priority : 'critical',
      answersOptions: context.answersOptions?.(place) ?? false,
    });
    this.#routes.set(context.type, ofType.set(place.controller, byHandler));
  }

  /** Every HTTP route, but those that say that nothing is to limit them. */
  #isShed(place: Handler, { hasEveryRoute }: ContextAdapter): boolean {
    const targets = [place.controller, targetOf(place)];
    return hasEveryRoute && targets.every((target) => readSkipped(target) !== 'all');
  }

  #shedding(place: Handler, context: ContextAdapter, priority: PriorityName): RoutePolicy[] {
    const { shedding } = this.options;
    if (shedding === undefined || !this.#isShed(place, context)) return [];
    return fleetOf(shedding, priority).map((policy) =>
      toRoutePolicy(policy, { cost: 1, settle: undefined }, this.options, this.authentication, this.#nobody),
    );
  }

  /** What is said later, and closer to the handler, says how a policy is used there. */
  #applying(place: Handler, { hasEveryRoute }: ContextAdapter): RoutePolicy[] {
    const owner: Place = { controller: place.controller };
    const [ofClass, ofHandler] = [targetOf(owner), targetOf(place)];
    const merged = new Map<string, RoutePolicy>();
    for (const [from, uses] of [
      [owner, hasEveryRoute ? this.options.everyRoute.map((policy): Use => ({ policy })) : []],
      [owner, readUses(ofClass)],
      [place, readUses(ofHandler)],
    ] as const) {
      for (const use of uses) {
        const routePolicy = this.#routePolicy(from, use);
        merged.set(routePolicy.policy.name, routePolicy);
      }
    }
    const skips = [readSkipped(ofClass), readSkipped(ofHandler)];
    return [...merged.values()].filter(({ policy: { name } }) => {
      return !skips.some((names) => names === 'all' || names.includes(name));
    });
  }

  #routePolicy(place: Place, { policy: named, use }: Use): RoutePolicy {
    const policy =
      typeof named === 'object' && named !== null
        ? this.#inline.find(place, named)!
        : this.#configured(place, named);
    checkAsking(describePlace(place), policy, this.options);
    checkPlan(describePlace(place), policy, this.options);
    const used = readUse(`@RateLimit at ${describePlace(place)}`, named, use, policy);
    checkNeeds(describePlace(place), used.cost);
    return toRoutePolicy(policy, used, this.options, this.authentication, this.#nobody);
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

/** What is said of a policy where it is used: beside its name, or in a policy that is written there. */
function readUse(where: string, named: unknown, use: unknown, { cost }: Policy<RateLimitContext>): PolicyUse {
  if (use === undefined)
    return { cost, settle: readSettle(where, (Object(named) as { settle?: unknown }).settle) };
  const options = new OptionReader(where, use);
  const used = { cost: readCost(options, cost), settle: readSettle(where, options.value('settle')) };
  options.done();
  return used;
}

function toStage(policies: readonly RoutePolicy[]): Stage {
  const needs = new Set(policies.flatMap((policy) => policy.needs));
  const settles = policies.some(({ settle }) => settle !== undefined);
  const holds = policies.some(({ policy }) => holdsPlaces(policy.rule));
  const waits = policies.some(({ policy }) => policy.rule.queue !== undefined);
  return {
    policies,
    needs: IDENTITY_PARTS.filter((part) => needs.has(part)),
    isListed: policies.some(({ isListed }) => isListed),
    isFollowed: settles || holds || waits,
    settles,
    holds,
  };
}
