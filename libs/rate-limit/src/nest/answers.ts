import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Decision } from '../decision/decision.js';
import type { Rule } from '../algorithms/index.js';
import {
  announce,
  type Announcement,
  type CountedDecision,
  type HeaderDialect,
  type SetField,
} from '../http/header-dialect.js';
import { refuse } from '../http/problem.js';
import type { PolicyAttempt } from '../limiter/attempt.js';
import { COMPILED_OPTIONS, type CompiledOptions } from './compile-options.js';
import type { RateLimitContext } from './context.js';
import type { CallArguments, ContextAdapter, Refusal } from './contexts/context-adapter.js';

/** What a response tells of decisions: the same, wherever they were made. */
@Injectable()
export class Answers {
  readonly #announcements = new WeakMap<Rule, Announcement>();

  constructor(
    /** The host and not its adapter, which a testing module sets only after this is made. */
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(COMPILED_OPTIONS) private readonly options: CompiledOptions,
  ) {}

  /** Sets fields of a response. */
  setterOf(response: unknown): SetField {
    const adapter = this.host.httpAdapter;
    return (name, value) => adapter.setHeader(response, name, value);
  }

  /** The same of what answers a call; `undefined` where nothing has any. */
  setterFor(context: ContextAdapter, args: CallArguments): SetField | undefined {
    return context.setterOf(args, this.host.httpAdapter);
  }

  /** Of those that nobody could decide nothing is announced, and of those that were not asked only the policy. */
  announce(set: SetField, attempts: readonly PolicyAttempt[], decisions: readonly Decision[]): void {
    const { dialect } = this.options;
    if (dialect === undefined || decisions.length === 0) return;
    const counted: (CountedDecision | undefined)[] = [];
    const announced: Announcement[] = [];
    let told = false;
    let next = 0;
    for (const { policy, rule, shadow } of attempts) {
      const decision = decisions[next]?.policy === policy.name ? decisions[next] : undefined;
      if (decision !== undefined) next += 1;
      if (shadow === true || policy.sheds) continue;
      const isCounted = decision?.outcome === 'allowed' || decision?.outcome === 'denied';
      if (decision !== undefined && !isCounted) continue;
      counted.push(isCounted ? decision : undefined);
      announced.push(this.#announcement(dialect, policy.name, rule));
      told ||= isCounted;
    }
    if (told) dialect.write(counted, announced, set);
  }

  /** Sets the header fields of a refusal, where there are any, and makes its body. */
  refuse(set: SetField | undefined, context: RateLimitContext, decisions: readonly Decision[]): Refusal {
    const { problem, retryAfter } = refuse(decisions);
    if (retryAfter !== undefined) set?.('Retry-After', String(retryAfter));
    // RFC 6585 §4: a 429 must not be stored, whatever the route says of its own responses.
    set?.('Cache-Control', 'no-store');
    context.endIdentity();
    const body = this.options.problem?.(problem, context, decisions);
    if (body === undefined) set?.('Content-Type', 'application/problem+json');
    const { status, detail } = problem;
    return { body: body ?? problem, status, retryAfter, detail, decisions };
  }

  /** What never changes about the numbers of a policy is worked out once for each: a rule is of one policy only. */
  #announcement(dialect: HeaderDialect, name: string, rule: Rule): Announcement {
    const present = this.#announcements.get(rule);
    if (present !== undefined) return present;
    const made = announce(dialect, { name, quota: rule.quota });
    this.#announcements.set(rule, made);
    return made;
  }
}
