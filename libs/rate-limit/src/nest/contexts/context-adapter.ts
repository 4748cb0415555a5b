import type { AbstractHttpAdapter } from '@nestjs/core';
import type { Decision } from '../../decision/decision.js';
import type { SetField } from '../../http/header-dialect.js';
import type { RateLimitRequest } from '../context.js';
import type { HandlerPlace } from '../route-name.js';
import type { Outcome } from '../settle.js';
import type { Told } from './told.js';

/** What Nest hands to a handler, in its order. */
export type CallArguments = readonly unknown[];

/** What an application's HTTP adapter is; `undefined` in one that has none. */
export type HttpAdapter = AbstractHttpAdapter | undefined;

/** A refusal, with all that a context may tell of it. */
export interface Refusal {
  /** The problem document, or what the module's `problem` option makes of it. */
  readonly body: object;
  readonly status: number;
  /** Whole seconds; `undefined` when no wait would help. */
  readonly retryAfter: number | undefined;
  /** The same in words. */
  readonly detail: string;
  readonly decisions: readonly Decision[];
}

/**
 * One kind of calls that Nest hands to handlers, as `ExecutionContext.getType()` tells them apart: all that the limiter
 * has to know of it. Packages that an application may be without are known by the metadata that they leave only.
 */
export interface ContextAdapter {
  readonly type: string;
  /** Which classes have its handlers. */
  readonly classes: 'controllers' | 'providers';
  /** Whether `everyRoute` applies to its handlers. What else is limited is decorated. */
  readonly hasEveryRoute: boolean;
  /** Whether its calls may be refused before Nest has anything to do with them. */
  readonly isRefusedEarly: boolean;
  /** Whether a method is one of its handlers. */
  handles(place: HandlerPlace): boolean;
  /** Why a method cannot be limited that looks as if it could; what to do instead. */
  unfit?(place: HandlerPlace): string | undefined;
  /**
   * What keys call a handler's route: made of what clients ask for, and the same in every instance.
   *
   * @param mounts where RouterModule puts its class
   */
  routeId(place: HandlerPlace, mounts: readonly string[]): string;
  /** What names of policies are made of that have none. */
  textOf(place: HandlerPlace): string;
  /** Whether a handler was written to answer CORS preflights. Left out: it never is. */
  answersOptions?(place: HandlerPlace): boolean;
  /** What is one and the same for all guards and interceptors of one call, and for no other call. */
  callOf(args: CallArguments): object;
  /** What keys and costs read. */
  requestOf(args: CallArguments): RateLimitRequest;
  /** Sets header fields of what answers a call; `undefined` where nothing has any. */
  setterOf(args: CallArguments, adapter: HttpAdapter): SetField | undefined;
  /** What was told before by what answers this call and others together. Left out: each has its own answer. */
  toldOf?(args: CallArguments): Told | undefined;
  /** What is thrown, so that clients get it as they expect it there. */
  toError(refusal: Refusal, args: CallArguments, place: HandlerPlace): Error;
  /** Tells, once, how a call has ended that was let pass. Left out: it ends with its handler. */
  whenEnded?(args: CallArguments, tell: (outcome: Outcome) => void): void;
  /** Loads what only applications have that limit such handlers. Left out: nothing. */
  load?(): Promise<void>;
  /** Prepares the HTTP server of such applications. Left out: nothing. */
  prepare?(adapter: HttpAdapter): void;
}
