import { type ExecutionContext, Inject, Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type Decision, passes } from '../decision/decision.js';
import type { Announcement, CountedDecision, SetField } from '../http/header-dialect.js';
import { refuse } from '../http/problem.js';
import { Engine, type PolicyAttempt } from '../limiter/engine.js';
import { Outage } from '../limiter/outage.js';
import { COMPILED_OPTIONS, type CompiledOptions } from './compile-options.js';
import { RateLimitContext, type RateLimitRequest } from './context.js';
import { RateLimitException } from './rate-limit.exception.js';
import { requestCost } from './request-cost.js';
import type { RoutePolicy } from './route-policy.js';
import { type Route, RouteTable, type Stage } from './route-table.js';
import { textOf } from './text-of.js';

/** What has been decided of a request so far; on it, so that a guard that is bound twice counts it once. */
const DECIDED = Symbol('nestjs-valkey-rate-limit:decided');

/** An attempt of a request, and how its numbers are announced. */
interface RouteAttempt extends PolicyAttempt {
  readonly announcement: Announcement | undefined;
}

interface Decided {
  readonly context: RateLimitContext;
  readonly attempts: readonly RouteAttempt[];
  readonly decisions: readonly Decision[];
}

type Marked = RateLimitRequest & { [DECIDED]?: Decided | 'begun' };

/** Decides HTTP requests, and answers those that are refused. */
@Injectable()
export class RequestLimiter {
  readonly #identityOutage = new Outage(
    new Logger('RateLimit'),
    () => performance.now(),
    'Asking who is behind a request does not work; policies go by onIdentityFailure until it does.',
    'Asking who is behind a request works again.',
  );

  constructor(
    @Inject(RouteTable) private readonly routes: RouteTable,
    @Inject(Engine) private readonly engine: Engine,
    /** The host and not its adapter, which a testing module sets only after this is made. */
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(COMPILED_OPTIONS) private readonly options: CompiledOptions,
  ) {}

  /** What can be decided before the guards of controllers and handlers have run. */
  begin(execution: ExecutionContext): boolean | Promise<boolean> {
    if (execution.getType() !== 'http') return true;
    const route = this.routes.find(execution.getClass(), execution.getHandler());
    if (route === undefined) return true;
    const request = execution.getArgByIndex<Marked>(0);
    if (request[DECIDED] !== undefined || (route.answersOptions && isPreflight(request))) return true;
    request[DECIDED] = 'begun';
    const early = this.routes.authentication === 'guards';
    const context = new RateLimitContext(request, execution, route.id, this.options, early);
    const before: Decided = { context, attempts: [], decisions: [] };
    return this.#identified(route, route.before, before);
  }

  /** The rest, when they have. */
  finish(execution: ExecutionContext): boolean | Promise<boolean> {
    if (execution.getType() !== 'http') return true;
    const route = this.routes.find(execution.getClass(), execution.getHandler());
    if (route === undefined || route.after.policies.length === 0) return true;
    const request = execution.getArgByIndex<Marked>(0);
    const decided = request[DECIDED];
    if (decided === undefined || decided === 'begun') return true;
    request[DECIDED] = 'begun';
    decided.context.beginIdentity();
    return this.#identified(route, route.after, decided);
  }

  #identified(route: Route, stage: Stage, before: Decided): boolean | Promise<boolean> {
    if (stage.needs.length === 0) return this.#decide(route, stage, before);
    const failed = (error: unknown) => this.#unidentified(route, stage, before, error as Error);
    let waiting: Promise<void> | undefined;
    try {
      waiting = before.context.identify(stage.needs);
    } catch (error) {
      return failed(error);
    }
    if (waiting === undefined) return this.#known(route, stage, before);
    return waiting.then(() => this.#known(route, stage, before), failed);
  }

  #known(route: Route, stage: Stage, before: Decided): boolean | Promise<boolean> {
    this.#identityOutage.answered();
    return this.#decide(route, stage, before);
  }

  #unidentified(route: Route, stage: Stage, before: Decided, cause: Error): boolean | Promise<boolean> {
    this.#identityOutage.failed(cause, stage.policies.length);
    if (this.options.onIdentityFailure === 'default-plan') {
      before.context.giveUpIdentity();
      return this.#decide(route, stage, before, false);
    }
    const decisions = stage.policies.map(({ policy }): Decision => {
      return { outcome: 'unidentified', policy: policy.name, cost: 0, cause };
    });
    return this.#answer(route, stage, before, [], decisions);
  }

  /** @param watched whether a request of nobody is really one */
  #decide(route: Route, stage: Stage, before: Decided, watched = true): boolean | Promise<boolean> {
    const attempts: RouteAttempt[] = [];
    for (const routePolicy of stage.policies) {
      if (watched) routePolicy.watch?.(before.context);
      const attempt = this.#attempt(routePolicy, before.context);
      if (attempt !== undefined) attempts.push(attempt);
    }
    if (attempts.length === 0) return this.#answer(route, stage, before, attempts, []);
    const decisions = this.engine.decide(attempts);
    return decisions instanceof Promise
      ? decisions.then((decided) => this.#answer(route, stage, before, attempts, decided))
      : this.#answer(route, stage, before, attempts, decisions);
  }

  /** `undefined` where the plan is unlimited. */
  #attempt(routePolicy: RoutePolicy, context: RateLimitContext): RouteAttempt | undefined {
    const { policy, key, cost, planned, zoned } = routePolicy;
    const subject = textOf(key(context));
    const plan = planned ? context.plan : undefined;
    const timeZone = zoned ? context.timeZone : undefined;
    const limit = this.engine.limitOf({ policy, subject, plan, timeZone });
    if (limit === 'unlimited') return undefined;
    return {
      policy,
      subject,
      plan,
      timeZone,
      limit,
      cost: typeof cost === 'number' ? cost : requestCost(cost(context)),
      announcement: routePolicy.announce?.(limit.rule),
    };
  }

  #answer(
    route: Route,
    stage: Stage,
    before: Decided,
    attempts: readonly RouteAttempt[],
    decisions: readonly Decision[],
  ): boolean {
    const { context } = before;
    const all =
      before.attempts.length === 0 ? { context, attempts, decisions } : join(before, attempts, decisions);
    const response = context.execution.getArgByIndex<unknown>(1);
    const adapter = this.host.httpAdapter;
    const set: SetField = (name, value) => adapter.setHeader(response, name, value);
    this.#announce(all, set);
    if (passes(decisions)) {
      if (stage === route.before) (context.request as Marked)[DECIDED] = all;
      return true;
    }
    // A refused request takes nothing, from the policies of the stage before either.
    void this.engine.giveBack(before.attempts, before.decisions);
    const { problem, retryAfter } = refuse(decisions);
    if (retryAfter !== undefined) set('Retry-After', String(retryAfter));
    // RFC 6585 §4: a 429 must not be stored, whatever the route says of its own responses.
    set('Cache-Control', 'no-store');
    context.endIdentity();
    const body = this.options.problem?.(problem, context, decisions);
    if (body === undefined) set('Content-Type', 'application/problem+json');
    throw new RateLimitException(body ?? problem, problem.status, decisions);
  }

  /** Only decisions with numbers are announced: of the others nothing is known. */
  #announce({ attempts, decisions }: Decided, set: SetField): void {
    const { dialect } = this.options;
    if (dialect === undefined) return;
    const counted: CountedDecision[] = [];
    const announced: Announcement[] = [];
    for (let index = 0; index < attempts.length; index += 1) {
      const decision = decisions[index]!;
      if (decision.outcome !== 'allowed' && decision.outcome !== 'denied') continue;
      counted.push(decision);
      announced.push(attempts[index]!.announcement!);
    }
    if (counted.length > 0) dialect.write(counted, announced, set);
  }
}

function join(
  { context, ...before }: Decided,
  attempts: readonly RouteAttempt[],
  decisions: readonly Decision[],
): Decided {
  return {
    context,
    attempts: [...before.attempts, ...attempts],
    decisions: [...before.decisions, ...decisions],
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
