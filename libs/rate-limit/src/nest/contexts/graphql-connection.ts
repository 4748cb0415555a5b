import type { RateLimitRequest } from '../context.js';

/** Where an operation came from. */
export interface Connection {
  /** The HTTP request, or the one that opened the WebSocket. */
  readonly request: RateLimitRequest;
  /** Whether an HTTP response answers it. */
  readonly isHttp: boolean;
  /** Whom authentication found, wherever it left that. */
  user(): unknown;
}

/** What is used of the context of a connection of graphql-ws, which Nest hands over in place of the request. */
interface Opened {
  readonly extra?: { readonly request?: RateLimitRequest; readonly user?: unknown };
  readonly connectionParams?: unknown;
  readonly user?: unknown;
}

interface Context {
  readonly req?: RateLimitRequest & Opened;
  readonly request?: RateLimitRequest & Opened;
  readonly user?: unknown;
}

const NO_REQUEST: RateLimitRequest = Object.freeze({ method: 'POST', headers: {} });

/** @param given what the application's `context` makes, of whatever type that is */
export function connectionOf(given: unknown): Connection {
  const context = Object(given ?? {}) as Context;
  const from = context.req ?? context.request;
  if (from === undefined) return { request: NO_REQUEST, isHttp: false, user: () => context.user };
  const { extra, connectionParams } = from;
  const request =
    extra?.request === undefined
      ? from
      : (Object.create(extra.request, { connectionParams: { value: connectionParams } }) as RateLimitRequest);
  return {
    request,
    isHttp: extra === undefined && request.headers?.['sec-websocket-key'] === undefined,
    user: () => from.user ?? context.user ?? extra?.user ?? request['user'],
  };
}
