import { type ExecutionContext, Inject, Injectable, Logger } from '@nestjs/common';
import { type Decision, passes } from '../decision/decision.js';
import { Engine, type PolicyAttempt } from '../limiter/engine.js';
import { Outage } from '../limiter/outage.js';
import { Answers } from './answers.js';
import { COMPILED_OPTIONS, type CompiledOptions } from './compile-options.js';
import { RateLimitContext, type RateLimitRequest } from './context.js';
import { EarlyRefusal } from './early-refusal.js';
import { toException } from './rate-limit.exception.js';
import { toAttempt } from './route-attempt.js';
import { isSpared, type Route, RouteTable, type Stage } from './route-table.js';

/** What has been decided of a request so far; on it, so that a guard that is bound twice counts it once. */
const DECIDED = Symbol('nestjs-valkey-rate-limit:decided');

interface Decided {
  readonly context: RateLimitContext;
  readonly attempts: readonly PolicyAttempt[];
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
    @Inject(Answers) private readonly answers: Answers,
    @Inject(EarlyRefusal) private readonly early: EarlyRefusal,
    @Inject(COMPILED_OPTIONS) private readonly options: CompiledOptions,
  ) {}

  /** What can be decided before the guards of controllers and handlers have run. */
  begin(execution: ExecutionContext): boolean | Promise<boolean> {
    if (execution.getType() !== 'http') return true;
    const route = this.routes.find(execution.getClass(), execution.getHandler());
    if (route === undefined) return true;
    const request = execution.getArgByIndex<Marked>(0);
    if (request[DECIDED] !== undefined || isSpared(request, route)) return true;
    this.early.learn(request, route);
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
    const attempts: PolicyAttempt[] = [];
    for (const routePolicy of stage.policies) {
      if (watched) routePolicy.watch?.(before.context);
      const attempt = toAttempt(this.engine, routePolicy, before.context);
      if (attempt !== undefined) attempts.push(attempt);
    }
    if (attempts.length === 0) return this.#answer(route, stage, before, attempts, []);
    const decisions = this.engine.decide(attempts);
    return decisions instanceof Promise
      ? decisions.then((decided) => this.#answer(route, stage, before, attempts, decided))
      : this.#answer(route, stage, before, attempts, decisions);
  }

  #answer(
    route: Route,
    stage: Stage,
    before: Decided,
    attempts: readonly PolicyAttempt[],
    decisions: readonly Decision[],
  ): boolean {
    const { context } = before;
    const all =
      before.attempts.length === 0 ? { context, attempts, decisions } : join(before, attempts, decisions);
    const response = context.execution.getArgByIndex<unknown>(1);
    const set = this.answers.setterOf(response);
    this.answers.announce(set, all.attempts, all.decisions);
    if (passes(decisions)) {
      if (stage === route.before) (context.request as Marked)[DECIDED] = all;
      return true;
    }
    // A refused request takes nothing, from the policies of the stage before either.
    if (before.decisions.length > 0) void this.engine.giveBack(before.attempts, before.decisions);
    const { body, status } = this.answers.refuse(set, context, decisions);
    throw toException(body, status, decisions);
  }
}

function join(
  { context, ...before }: Decided,
  attempts: readonly PolicyAttempt[],
  decisions: readonly Decision[],
): Decided {
  return {
    context,
    attempts: [...before.attempts, ...attempts],
    decisions: [...before.decisions, ...decisions],
  };
}
