import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type Decision, passes } from '../decision/decision.js';
import type { Announcement, CountedDecision, SetField } from '../http/header-dialect.js';
import { refuse } from '../http/problem.js';
import { Engine, type PolicyAttempt } from '../limiter/engine.js';
import { COMPILED_OPTIONS, type CompiledOptions } from './compile-options.js';
import { RateLimitContext, type RateLimitRequest, textOf } from './context.js';
import { RateLimitException } from './rate-limit.exception.js';
import { requestCost } from './request-cost.js';
import { type Route, type RoutePolicy, RouteTable } from './route-table.js';

/** Marks a request that was counted, so that a guard that is bound twice counts it once. */
const COUNTED = Symbol('nestjs-valkey-rate-limit:counted');

type Marked = RateLimitRequest & { [COUNTED]?: true };

/**
 * Decides every HTTP request whose handler has a policy. The module registers it globally; to take it out of a test,
 * `overrideProvider(RateLimitGuard).useValue({ canActivate: () => true })`.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(
    @Inject(RouteTable) private readonly routes: RouteTable,
    @Inject(Engine) private readonly engine: Engine,
    /** The host and not its adapter, which a testing module sets only after the guard is made. */
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(COMPILED_OPTIONS) private readonly options: CompiledOptions,
  ) {}

  canActivate(execution: ExecutionContext): boolean | Promise<boolean> {
    if (execution.getType() !== 'http') return true;
    const route = this.routes.find(execution.getClass(), execution.getHandler());
    if (route === undefined) return true;
    const request = execution.getArgByIndex<Marked>(0);
    if (request[COUNTED] === true || (route.answersOptions && isPreflight(request))) return true;
    request[COUNTED] = true;

    const context = new RateLimitContext(request, execution, this.options.identify);
    const decisions = this.engine.decide(route.policies.map((policy) => attempt(policy, context)));
    return decisions instanceof Promise
      ? decisions.then((decided) => this.#answer(route, decided, context))
      : this.#answer(route, decisions, context);
  }

  #answer(route: Route, decisions: readonly Decision[], context: RateLimitContext): boolean {
    const response = context.execution.getArgByIndex<unknown>(1);
    const adapter = this.host.httpAdapter;
    const set: SetField = (name, value) => adapter.setHeader(response, name, value);
    this.#announce(route, decisions, set);
    if (passes(decisions)) return true;

    const { problem, retryAfter } = refuse(decisions);
    if (retryAfter !== undefined) set('Retry-After', String(retryAfter));
    // RFC 6585 §4: a 429 must not be stored, whatever the route says of its own responses.
    set('Cache-Control', 'no-store');
    const body = this.options.problem?.(problem, context, decisions);
    if (body === undefined) set('Content-Type', 'application/problem+json');
    throw new RateLimitException(body ?? problem, problem.status, decisions);
  }

  /** Only decisions with numbers are announced: of the others nothing is known. */
  #announce(route: Route, decisions: readonly Decision[], set: SetField): void {
    const { dialect } = this.options;
    if (dialect === undefined) return;
    const counted: CountedDecision[] = [];
    const announced: Announcement[] = [];
    for (let index = 0; index < decisions.length; index += 1) {
      const decision = decisions[index]!;
      if (decision.outcome === 'unavailable') continue;
      counted.push(decision);
      announced.push(route.policies[index]!.announcement!);
    }
    if (counted.length > 0) dialect.write(counted, announced, set);
  }
}

function attempt({ policy, key, cost }: RoutePolicy, context: RateLimitContext): PolicyAttempt {
  return {
    policy,
    subject: textOf(key(context)),
    cost: typeof cost === 'number' ? cost : requestCost(cost(context)),
  };
}

/**
 * A CORS preflight asks for permission on behalf of a request that will be counted itself. Only a handler for OPTIONS is
 * spared: behind one for every method, a client that says it is a preflight would run it without a limit. With
 * `enableCors`, adapters answer preflights before any guard.
 */
function isPreflight({ method, headers }: RateLimitRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}
