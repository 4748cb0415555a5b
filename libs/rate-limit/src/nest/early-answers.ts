import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { Denial } from '../limiter/deny-cache.js';
import type { PolicyAttempt } from '../limiter/attempt.js';
import { Engine, type KnownDenials } from '../limiter/engine.js';
import { Answers } from './answers.js';
import { COMPILED_OPTIONS, type CompiledOptions } from './compile-options.js';
import { RateLimitContext, type RateLimitRequest } from './context.js';
import { toAttempt } from './route-attempt.js';
import type { Route } from './route-table.js';

/** A refusal with all that is sent of it. */
export interface EarlyAnswer {
  readonly route: Route;
  readonly denials: readonly Denial[];
  /** For those who listen, as it was told first. */
  readonly known: KnownDenials;
  readonly status: number;
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** A text is sent as it is. */
  readonly body: object | string;
  /** Until when it is right to the second, by the clock of the deny cache. */
  readonly until: number;
}

/** What is used of Fastify's reply. */
interface Reply {
  code(status: number): Reply;
  header(name: string, value: string): Reply;
  serialize(body: object): string;
  send(body: string): void;
}

const SECOND_MS = 1_000;

/**
 * Refusals that are made once a second for each client and not for each request: what is told changes no sooner, and
 * while an attack goes on every function that runs for it counts.
 */
@Injectable()
export class EarlyAnswers {
  readonly #made = new WeakMap<Denial, EarlyAnswer>();
  #writesText: boolean | undefined;

  constructor(
    @Inject(Engine) private readonly engine: Engine,
    @Inject(Answers) private readonly answers: Answers,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(COMPILED_OPTIONS) private readonly options: CompiledOptions,
  ) {}

  /** One that is still right. */
  find(route: Route, denials: readonly Denial[], now: number): EarlyAnswer | undefined {
    const made = this.#made.get(denials[0]!);
    if (made === undefined || now >= made.until || made.route !== route) return undefined;
    if (made.denials.length !== denials.length) return undefined;
    for (let index = 0; index < denials.length; index += 1) {
      if (made.denials[index] !== denials[index]) return undefined;
    }
    return made;
  }

  /** `undefined` if it is not known any more that the request would be denied. Throws what the application throws. */
  make(
    route: Route,
    denials: readonly Denial[],
    now: number,
    request: RateLimitRequest,
    response: unknown,
  ): EarlyAnswer | undefined {
    const { controller, handler } = route.place;
    const method = handler.method as () => unknown;
    const execution = new ExecutionContextHost([request, response], controller, method);
    const context = new RateLimitContext(request, execution, route.id, this.options);
    const attempts: PolicyAttempt[] = [];
    for (const each of route.before.policies) {
      // Those of a list that only the head of a request decides answer at once.
      if (each.policy.skip?.(context) !== true) attempts.push(toAttempt(this.engine, each, context)!);
    }
    const known = this.engine.knownDenials(attempts);
    if (known === undefined) return undefined;
    const { decisions } = known;
    const fields: [string, string][] = [];
    const set = (name: string, value: string) => void fields.push([name, value]);
    this.answers.announce(set, attempts, decisions);
    const { status, body } = this.answers.refuse(set, context, decisions);
    // What the application makes of it may be something else for the next request, and lists may skip another one's policies.
    if (this.options.problem !== undefined || route.before.policies.some(({ isListed }) => isListed)) {
      return { route, denials, known, status, fields, body, until: now };
    }
    const until = Math.min(...denials.map((denial) => rightUntil(denial, now)));
    const answer = {
      route,
      denials,
      known,
      status,
      fields,
      body: this.#toText(response, status, body),
      until,
    };
    this.#made.set(denials[0]!, answer);
    return answer;
  }

  send(response: unknown, { status, fields, body }: EarlyAnswer): void {
    if (typeof body === 'string') {
      const reply = (response as Reply).code(status);
      for (const [name, value] of fields) reply.header(name, value);
      reply.send(body);
      return;
    }
    const set = this.answers.setterOf(response);
    for (const [name, value] of fields) set(name, value);
    this.host.httpAdapter.reply(response, body, status);
  }

  /** What Fastify would make of a body each time. Express adds to it what depends on the request. */
  #toText(response: unknown, status: number, body: object): object | string {
    this.#writesText ??= this.host.httpAdapter.getType() === 'fastify' && hasNoSerialization(this.host);
    if (!this.#writesText) return body;
    return (response as Reply).code(status).serialize(body);
  }
}

/** Until when whole seconds, rounded up, are the same. */
function rightUntil({ verdict, answeredAt, until }: Denial, now: number): number {
  const { retryAfterMs = 0, nextMs, resetMs } = verdict;
  const changes = [retryAfterMs, nextMs, resetMs].map((milliseconds) => {
    const left = milliseconds - (now - answeredAt);
    return left <= 0 ? Infinity : now + left - SECOND_MS * (Math.ceil(left / SECOND_MS) - 1);
  });
  return Math.min(until, ...changes);
}

/** Whether bodies of refusals go through no `preSerialization` hook. Fastify does not tell, so what is unknown has one. */
function hasNoSerialization({ httpAdapter }: HttpAdapterHost): boolean {
  const fastify = httpAdapter.getInstance<Record<symbol, { preSerialization?: unknown[] } | undefined>>();
  const hooks = Object.getOwnPropertySymbols(fastify).find(
    ({ description }) => description === 'fastify.hooks',
  );
  return hooks !== undefined && fastify[hooks]?.preSerialization?.length === 0;
}
