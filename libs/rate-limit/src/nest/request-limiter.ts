import { type ExecutionContext, Inject, Injectable, Logger } from '@nestjs/common';
import { type Decision, passes } from '../decision/decision.js';
import { decisionTiming } from '../http/server-timing.js';
import type { PolicyAttempt } from '../limiter/attempt.js';
import { Engine } from '../limiter/engine.js';
import { Outage } from '../limiter/outage.js';
import { admit, type Admission } from './admission.js';
import { Answers } from './answers.js';
import { Watchers } from '../telemetry/watchers.js';
import { COMPILED_OPTIONS, type CompiledOptions } from './compile-options.js';
import { RateLimitContext } from './context.js';
import { EarlyRefusal } from './early-refusal.js';
import { Passage } from './passage.js';
import { toAttempt } from './route-attempt.js';
import type { RoutePolicy } from './route-policy.js';
import { Shedder } from './shedder.js';
import { isSpared, type Route, RouteTable, type Stage } from './route-table.js';

/** What has been decided of a call so far; on it, so that a guard that is bound twice counts it once. */
const DECIDED = Symbol('nestjs-valkey-rate-limit:decided');

interface Decided {
  readonly context: RateLimitContext;
  readonly attempts: readonly PolicyAttempt[];
  readonly decisions: readonly Decision[];
}

type Marked = object & { [DECIDED]?: Decided | 'begun' };

/** Decides calls of every kind, and answers those that are refused. */
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
    @Inject(Passage) private readonly passage: Passage,
    @Inject(Shedder) private readonly shedder: Shedder,
    @Inject(Watchers) private readonly watchers: Watchers,
    @Inject(COMPILED_OPTIONS) private readonly options: CompiledOptions,
  ) {}

  /** What can be decided before the guards of controllers and handlers have run. */
  begin(execution: ExecutionContext): boolean | Promise<boolean> {
    const route = this.routes.find(execution.getType(), execution.getClass(), execution.getHandler());
    if (route === undefined) return true;
    const args = execution.getArgs();
    const call: Marked = route.context.callOf(args);
    if (call[DECIDED] !== undefined) return true;
    const request = route.context.requestOf(args);
    if (isSpared(request, route)) return true;
    this.early.learn(request, route);
    call[DECIDED] = 'begun';
    const early = this.routes.authentication === 'guards';
    const context = new RateLimitContext(request, execution, route.id, this.options, early);
    const before: Decided = { context, attempts: [], decisions: [] };
    const shed =
      this.shedder.levelForRequest() === 0 ? undefined : this.shedder.refusal(route.priority, context);
    if (shed !== undefined)
      return this.#answer(route, route.before, before, [], this.engine.announce({ decisions: shed }));
    return this.#identified(route, route.before, before);
  }

  /** The rest, when they have. */
  finish(execution: ExecutionContext): boolean | Promise<boolean> {
    const route = this.routes.find(execution.getType(), execution.getClass(), execution.getHandler());
    if (route === undefined || route.after.policies.length === 0) return true;
    const call: Marked = route.context.callOf(execution.getArgs());
    const decided = call[DECIDED];
    if (decided === undefined || decided === 'begun') return true;
    call[DECIDED] = 'begun';
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
    // One that is in shadow refuses nobody, also where it cannot be decided.
    const refuses = stage.policies.some(({ needs, policy }) => needs.length > 0 && policy.mode !== 'shadow');
    if (this.options.onIdentityFailure === 'default-plan' || !refuses) {
      before.context.giveUpIdentity();
      return this.#decide(route, stage, before, false);
    }
    const decisions = stage.policies.map(({ policy: { name, mode } }): Decision => {
      return {
        outcome: 'unidentified',
        policy: name,
        cost: 0,
        cause,
        ...(mode === 'shadow' && { shadow: true }),
      };
    });
    return this.#answer(route, stage, before, [], this.engine.announce({ decisions }));
  }

  /** @param watched whether a request of nobody is really one */
  #decide(route: Route, stage: Stage, before: Decided, watched = true): boolean | Promise<boolean> {
    if (!stage.isListed) return this.#count(route, stage, before, stage.policies, watched);
    const admission = admit(stage.policies, before.context);
    const decide = (admitted: Admission) => this.#admitted(route, stage, before, admitted, watched);
    return admission instanceof Promise ? admission.then(decide) : decide(admission);
  }

  #admitted(
    route: Route,
    stage: Stage,
    before: Decided,
    { policies, forbidden }: Admission,
    watched: boolean,
  ): boolean | Promise<boolean> {
    this.engine.announce({ decisions: forbidden });
    if (!passes(forbidden)) return this.#answer(route, stage, before, [], forbidden);
    return this.#count(route, stage, before, policies, watched);
  }

  #count(
    route: Route,
    stage: Stage,
    before: Decided,
    policies: readonly RoutePolicy[],
    watched: boolean,
  ): boolean | Promise<boolean> {
    const attempts: PolicyAttempt[] = [];
    for (const routePolicy of policies) {
      if (watched) routePolicy.watch?.(before.context);
      const attempt = toAttempt(this.engine, routePolicy, before.context);
      if (attempt !== undefined) attempts.push(attempt);
    }
    if (attempts.length === 0) return this.#answer(route, stage, before, attempts, []);
    const begun = this.options.telemetry.serverTiming ? performance.now() : undefined;
    const answer = (decided: readonly Decision[]) =>
      this.#answer(route, stage, before, attempts, decided, begun && performance.now() - begun);
    const decisions = this.engine.decide(attempts);
    return decisions instanceof Promise ? decisions.then(answer) : answer(decisions);
  }

  #answer(
    route: Route,
    stage: Stage,
    before: Decided,
    attempts: readonly PolicyAttempt[],
    decisions: readonly Decision[],
    tookMs?: number,
  ): boolean | Promise<boolean> {
    const { context } = before;
    const all =
      before.attempts.length === 0 ? { context, attempts, decisions } : join(before, attempts, decisions);
    const args = context.execution.getArgs();
    const set = this.answers.setterFor(route.context, args);
    if (set !== undefined) {
      const told = route.context.toldOf?.(args)?.with(all.attempts, all.decisions) ?? all;
      this.answers.announce(set, told.attempts, told.decisions);
      if (tookMs !== undefined) set('Server-Timing', decisionTiming(tookMs));
    }
    if (passes(decisions)) {
      if (stage === route.before) (route.context.callOf(args) as Marked)[DECIDED] = all;
      if (!stage.isFollowed) return true;
      const giveBack = (except: readonly PolicyAttempt[]) =>
        void this.engine.giveBack(all.attempts, all.decisions, except);
      return this.passage.enter({ route, stage, context, args, set, attempts, decisions, giveBack });
    }
    this.watchers.refusals?.add(decisions, attempts);
    // A refused request takes nothing, from the policies of the stage before either.
    if (before.decisions.length > 0) {
      const settled = this.passage.cancel(route, args);
      void this.engine.giveBack(before.attempts, before.decisions, settled);
    }
    throw route.context.toError(this.answers.refuse(set, context, decisions), args, route.place);
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
