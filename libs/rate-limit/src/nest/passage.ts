import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { AllowedDecision, Decision, DeniedDecision, ShedDecision } from '../decision/decision.js';
import type { SetField } from '../http/header-dialect.js';
import { waitTiming } from '../http/server-timing.js';
import type { PolicyAttempt } from '../limiter/attempt.js';
import { Engine } from '../limiter/engine.js';
import { Watchers } from '../telemetry/watchers.js';
import { Answers } from './answers.js';
import type { CallEnds } from './call-ends.js';
import type { RateLimitContext } from './context.js';
import type { CallArguments } from './contexts/context-adapter.js';
import { Leases } from './leases.js';
import { type Route, RouteTable, type Stage } from './route-table.js';
import type { Outcome } from './settle.js';
import { type Settlement, Settlements } from './settlements.js';

/** A call that may go on, as far as its limits are concerned. */
export interface Passing {
  readonly route: Route;
  readonly stage: Stage;
  readonly context: RateLimitContext;
  readonly args: CallArguments;
  /** Where header fields are set, if there is such a place. */
  readonly set: SetField | undefined;
  /** What was decided in this stage. */
  readonly attempts: readonly PolicyAttempt[];
  readonly decisions: readonly Decision[];
  /** Gives back what was taken so far, in this stage and in the one before. */
  giveBack(except: readonly PolicyAttempt[]): void;
}

/** What a call has taken that is to be seen to when it has ended. */
const DUE = Symbol('nestjs-valkey-rate-limit:due');

/** Something that is over when its call is. */
type Due = Pick<Settlement, 'end' | 'cancel' | 'error'>;

type Marked = object & { [DUE]?: readonly Due[] };

/** The way of a call from the decision that it may go on to its end: it waits for its turn, holds places, is settled. */
@Injectable()
export class Passage implements CallEnds {
  constructor(
    @Inject(RouteTable) private readonly routes: RouteTable,
    @Inject(Engine) private readonly engine: Engine,
    @Inject(Answers) private readonly answers: Answers,
    @Inject(Settlements) private readonly settlements: Settlements,
    @Inject(Leases) private readonly leases: Leases,
    @Inject(Watchers) private readonly watchers: Watchers,
  ) {}

  /**
   * A promise only for whoever has to wait.
   *
   * @throws {Error} (or rejects with it) the refusal of one who cannot wait any longer
   */
  enter(passing: Passing): boolean | Promise<boolean> {
    const { stage, attempts, decisions } = passing;
    // Before it waits, as leases go on meanwhile.
    if (stage.holds) this.#see(passing, this.leases.hold(attempts, decisions));
    const waits = passing.decisions.filter(isDelayed);
    return waits.length === 0 ? this.#begin(passing) : this.#wait(passing, waits);
  }

  /** What is told of the end of a handler, unless its context tells more exactly how calls end. */
  ended(execution: ExecutionContext, outcome: Outcome): void {
    const route = this.routes.find(execution.getType(), execution.getClass(), execution.getHandler());
    if (route === undefined) return;
    const { [DUE]: due = [] }: Marked = route.context.callOf(execution.getArgs());
    for (const each of due) {
      if (route.context.whenEnded === undefined) each.end(outcome);
      else each.error = outcome.error;
    }
  }

  /** What a call has taken is given back otherwise. Answers for which attempts it is too late, as they are settled. */
  cancel(route: Route, args: CallArguments): readonly PolicyAttempt[] {
    const { [DUE]: due = [] }: Marked = route.context.callOf(args);
    return due.flatMap((each) => each.cancel());
  }

  #begin(passing: Passing): boolean {
    const { stage, attempts, decisions, context } = passing;
    if (stage.settles) {
      this.#see(passing, this.settlements.open(stage.policies, attempts, decisions, context));
    }
    return true;
  }

  /** Sees to something when the call has ended. */
  #see({ route, args }: Passing, due: readonly Due[]): void {
    if (due.length === 0) return;
    const call: Marked = route.context.callOf(args);
    call[DUE] = [...(call[DUE] ?? []), ...due];
    route.context.whenEnded?.(args, (outcome) => {
      for (const each of due) each.end(outcome);
    });
  }

  async #wait(passing: Passing, waits: readonly AllowedDecision[]): Promise<boolean> {
    const { turns } = this.engine;
    const full = waits.filter(({ policy }) => {
      const queue = passing.attempts.find((attempt) => attempt.policy.name === policy)?.rule.queue;
      return queue !== undefined && turns.waitingFor(policy) >= queue.maxWaiting;
    });
    if (full.length > 0) {
      const refused = full.map((one) => crowded(one, turns.nextMs(one.policy)));
      this.#tell(passing, refused);
      throw this.#refuse(passing, refused);
    }
    const begun = performance.now();
    const turn = turns.join(
      waits.map(({ policy }) => policy),
      Math.max(...waits.map(({ delayMs }) => delayMs)),
    );
    passing.route.context.whenEnded?.(passing.args, () => turn.leave());
    const end = await turn.ended;
    if (end === 'turn') {
      passing.set?.('Server-Timing', waitTiming(performance.now() - begun));
      return this.#begin(passing);
    }
    const away = waits.map(({ policy }): ShedDecision => {
      return { outcome: 'shed', policy, cost: 0, reason: 'shutting-down' };
    });
    // Whoever has left was not refused, and does not read it.
    if (end === 'closed') this.#tell(passing, away);
    throw this.#refuse(passing, away);
  }

  /** Those who listen, and the log. */
  #tell({ attempts }: Passing, decisions: readonly Decision[]): void {
    const asked = decisions.map(({ policy }) => attempts.find((each) => each.policy.name === policy)!);
    this.engine.announce({ decisions, attempts: asked });
    this.watchers.refusals?.add(decisions, asked);
  }

  #refuse(passing: Passing, decisions: readonly Decision[]): Error {
    const { route, context, args, set, attempts } = passing;
    passing.giveBack(this.cancel(route, args));
    if (set !== undefined) this.answers.announce(set, attempts, decisions);
    return route.context.toError(this.answers.refuse(set, context, decisions), args, route.place);
  }
}

function isDelayed(decision: Decision): decision is AllowedDecision {
  return decision.outcome === 'allowed' && decision.delayMs > 0;
}

/** Of one that the store lets wait, while too many wait here: it may try when the next of them has gone. */
function crowded({ policy, limit, store, at, resetMs }: AllowedDecision, nextMs: number): DeniedDecision {
  const wait = Math.max(1, nextMs);
  return {
    outcome: 'denied',
    policy,
    limit,
    cost: 0,
    store,
    at,
    remaining: 0,
    nextMs: wait,
    resetMs: Math.max(wait, resetMs),
    retryAfterMs: wait,
  };
}
