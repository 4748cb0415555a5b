import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { DenyCache, Denial } from '../limiter/deny-cache.js';
import { Engine } from '../limiter/engine.js';
import { Watchers } from '../telemetry/watchers.js';
import { COMPILED_OPTIONS, type CompiledOptions } from './compile-options.js';
import { RateLimitContext, type RateLimitRequest } from './context.js';
import { type EarlyAnswer, EarlyAnswers } from './early-answers.js';
import { isSpared, type Route } from './route-table.js';
import { textOf } from './text-of.js';

/** On a request whose route is not known yet: how its adapter tells it from others. */
const PLACE = Symbol('nestjs-valkey-rate-limit:place');

/** Fastify's own object for a route, or a method and path. */
type Place = object | string;

interface Fastify {
  addHook(name: 'onRequest', hook: (request: Placed, reply: unknown, done: () => void) => void): void;
}

type Placed = RateLimitRequest & { [PLACE]?: Place };

/** Paths whose route is known, at the most. Those that are asked for again are learned again. */
const MOST_PATHS = 1_000;

/**
 * Refuses requests that are known to be denied before Nest has anything to do with them, and gives the answer that the
 * guard would. Which route a request is for it learns from the guard, without which nobody is known to be denied.
 */
@Injectable()
export class EarlyRefusal {
  readonly #routes = new WeakMap<object, Route>();
  readonly #paths = new Map<string, Route>();
  #early: ReadonlySet<Route> = new Set();

  constructor(
    @Inject(Engine) private readonly engine: Engine,
    @Inject(EarlyAnswers) private readonly answers: EarlyAnswers,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(Watchers) private readonly watchers: Watchers,
    @Inject(COMPILED_OPTIONS) private readonly options: CompiledOptions,
  ) {}

  /** Takes its place in front of Express' routes: to be called before they are made. */
  useMiddleware(): void {
    this.host.httpAdapter.use((request: Placed, response: unknown, next: () => void) => {
      const known = this.#known();
      if (known === undefined) return next();
      // What comes after the question mark has no say in where it goes.
      const [path] = String(request['url']).split('?', 1);
      if (!this.#refuses(known, `${request.method} ${path}`, request, response)) next();
    });
  }

  /** Takes its place behind the hooks that Fastify has so far: to be called when all others have set up theirs. */
  addHook(): void {
    const fastify = this.host.httpAdapter.getInstance<Fastify>();
    fastify.addHook('onRequest', (request: Placed, reply: unknown, done: () => void) => {
      const known = this.#known();
      if (known === undefined) return done();
      const { config } = request['routeOptions'] as { config: object };
      if (!this.#refuses(known, config, request, reply)) done();
    });
  }

  /** @param routes those that may be refused here */
  begin(routes: Iterable<Route>): void {
    this.#early = new Set(routes);
  }

  /** For the guard: which route a request is for. */
  learn(request: RateLimitRequest, route: Route): void {
    const place = (request as Placed)[PLACE];
    if (place === undefined || !this.#early.has(route)) return;
    if (typeof place === 'object') {
      this.#routes.set(place, route);
      return;
    }
    if (this.#paths.size >= MOST_PATHS) this.#paths.clear();
    this.#paths.set(place, route);
  }

  /** What is known of denials; `undefined` while nobody can be refused here, so that others pay nothing for it. */
  #known(): DenyCache | undefined {
    const known = this.engine.denials;
    return known !== undefined && known.size > 0 && this.#early.size > 0 ? known : undefined;
  }

  #refuses(known: DenyCache, place: Place, request: Placed, response: unknown): boolean {
    const route = typeof place === 'object' ? this.#routes.get(place) : this.#paths.get(place);
    if (route === undefined) request[PLACE] = place;
    if (route === undefined || isSpared(request, route)) return false;
    const now = known.now();
    const denials = this.#denials(route, request, known, now);
    if (denials === undefined) return false;
    let answer: EarlyAnswer | undefined;
    try {
      answer =
        this.answers.find(route, denials, now) ?? this.answers.make(route, denials, now, request, response);
    } catch {
      // A function of the application that fails: the guard comes to the same, and Nest knows what to do with it.
    }
    if (answer === undefined) return false;
    const { decisions, attempts } = answer.known;
    this.engine.announce({ decisions, attempts, cached: true });
    this.watchers.refusals?.add(decisions, attempts);
    this.answers.send(response, answer);
    return true;
  }

  /** Those of a request, in the order of its policies; `undefined` if it is not known that it would be denied. */
  #denials(route: Route, request: Placed, known: DenyCache, now: number): Denial[] | undefined {
    // Keys that read nothing but the head of a request do not ask what Nest makes of it.
    const context = new RateLimitContext(request, undefined as never, route.id, this.options);
    let denials: Denial[] | undefined;
    for (const { policy, key, cost, isListed } of route.before.policies) {
      if (isListed) {
        if (policy.skip?.(context) === true) continue;
        // It is not for a limit that it is refused.
        if (policy.deny?.(context) === true) return undefined;
      }
      const entry = this.engine.entryOf({ policy, subject: textOf(key(context)) });
      const denial = entry && known.denialOf(entry.key, entry.rule, cost as number, now);
      if (denial !== undefined) (denials ??= []).push(denial);
    }
    return denials;
  }
}
