import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { Engine } from '../limiter/engine.js';
import { Answers } from './answers.js';
import { COMPILED_OPTIONS, type CompiledOptions } from './compile-options.js';
import { RateLimitContext, type RateLimitRequest } from './context.js';
import { toAttempt } from './route-attempt.js';
import { isSpared, type Route } from './route-table.js';

/** On a request whose route is not known yet: how its adapter tells it from others. */
const PLACE = Symbol('nestjs-valkey-rate-limit:place');

/** Fastify's own object for a route, or a method and path. */
type Place = object | string;

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
    @Inject(Answers) private readonly answers: Answers,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(COMPILED_OPTIONS) private readonly options: CompiledOptions,
  ) {}

  /** Takes its place in front of Express' routes: to be called before they are made. */
  useMiddleware(): void {
    this.host.httpAdapter.use((request: Placed, response: unknown, next: () => void) => {
      // What comes after the question mark has no say in where it goes.
      const [path] = String(request['url']).split('?', 1);
      if (!this.#refuses(`${request.method} ${path}`, request, response)) next();
    });
  }

  /** Takes its place behind the hooks that Fastify has so far: to be called when all others have set up theirs. */
  addHook(): void {
    const fastify = this.host.httpAdapter.getInstance<{ addHook(name: string, hook: unknown): void }>();
    fastify.addHook('onRequest', (request: Placed, reply: unknown, done: () => void) => {
      const { config } = request['routeOptions'] as { config: object };
      if (!this.#refuses(config, request, reply)) done();
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

  #refuses(place: Place, request: Placed, response: unknown): boolean {
    if (this.#early.size === 0) return false;
    const route = typeof place === 'object' ? this.#routes.get(place) : this.#paths.get(place);
    if (route === undefined) request[PLACE] = place;
    if (route === undefined || !this.engine.knowsDenials || isSpared(request, route)) return false;
    try {
      return this.#answers(route, request, response);
    } catch {
      // A function of the application that fails: the guard comes to the same, and Nest knows what to do with it.
      return false;
    }
  }

  /** Answers if it is known that the request would be denied. */
  #answers(route: Route, request: Placed, response: unknown): boolean {
    const { controller, handler } = route.place;
    const method = handler.method as () => unknown;
    const execution = new ExecutionContextHost([request, response], controller, method);
    const context = new RateLimitContext(request, execution, route.id, this.options);
    const attempts = route.before.policies.map((policy) => toAttempt(this.engine, policy, context)!);
    const decisions = this.engine.knownDenials(attempts);
    if (decisions === undefined) return false;
    this.answers.announce(response, attempts, decisions);
    const { body, status } = this.answers.refuse(response, context, decisions);
    this.host.httpAdapter.reply(response, body, status);
    return true;
  }
}
