import type { RpcException } from '@nestjs/microservices';
import type { RateLimitRequest } from '../context.js';
import { toException, withoutStack } from '../rate-limit.exception.js';
import { type HandlerPlace, targetOf } from '../route-name.js';
import type { CallArguments, ContextAdapter } from './context-adapter.js';
import { addressOf, type GrpcCall, grpcCallOf, toGrpcStatus } from './grpc.js';
import { membersOf } from './members.js';
import { patternText } from './pattern-text.js';

// What @nestjs/microservices leaves on handlers.
const PATTERN = 'microservices:pattern';
const HANDLER_TYPE = 'microservices:handler_type';
/** The handler type of an event, to which nobody waits for an answer. */
const EVENT = 2;
/** How a pattern says that a gRPC call is handed over as it is. */
const PASS_THROUGH = 'pt_stream';

type Headers = RateLimitRequest['headers'];

interface GrpcPattern {
  readonly service: string;
  readonly rpc: string;
  readonly streaming: string;
}

/** What is used of the contexts of transports. */
interface RpcContext {
  /** NATS. */
  getHeaders?(): unknown;
  /** TCP. */
  getSocketRef?(): { readonly socket?: { readonly remoteAddress?: string } };
  readonly user?: unknown;
}

let Exception: typeof RpcException | undefined;

/** Messages and events of microservices: `(data, context)`, and of gRPC `(data, metadata, call)`. */
export const rpc: ContextAdapter = {
  type: 'rpc',
  classes: 'controllers',
  hasEveryRoute: false,
  isRefusedEarly: false,
  handles: (place) => Reflect.hasMetadata(PATTERN, targetOf(place)),
  unfit: (place) =>
    patternsOf(place).some((pattern) => isGrpc(pattern) && pattern.streaming === PASS_THROUGH)
      ? 'Nest ends the process when a guard refuses a call of @GrpcStreamCall. Use @GrpcStreamMethod, or @SkipRateLimit().'
      : undefined,
  routeId: (place) => `pattern:${textOf(place)}`,
  textOf: (place) => `pattern ${textOf(place)}`,
  callOf: (args) => args,
  requestOf,
  setterOf: () => undefined,
  toError(refusal, args, place) {
    const call = grpcCallOf(args);
    if (call !== undefined) return withoutStack(() => new Exception!(toGrpcStatus(refusal, call)));
    // Nobody is answered, and Nest would log an RpcException that nobody gets.
    if (Reflect.getMetadata(HANDLER_TYPE, targetOf(place)) === EVENT) {
      return toException(refusal.body, refusal.status, refusal.decisions);
    }
    return withoutStack(() => new Exception!(membersOf(refusal)));
  },
  async load() {
    ({ RpcException: Exception } = await import('@nestjs/microservices'));
  },
};

function patternsOf(place: HandlerPlace): readonly unknown[] {
  return (Reflect.getMetadata(PATTERN, targetOf(place)) as readonly unknown[] | undefined) ?? [];
}

function textOf(place: HandlerPlace): string {
  const texts = patternsOf(place).map((pattern) =>
    isGrpc(pattern) ? `${pattern.service}/${pattern.rpc}` : patternText(pattern),
  );
  return texts.toSorted().join(',');
}

function isGrpc(pattern: unknown): pattern is GrpcPattern {
  return typeof pattern === 'object' && pattern !== null && 'rpc' in pattern && 'streaming' in pattern;
}

function requestOf(args: CallArguments): RateLimitRequest {
  const call = grpcCallOf(args);
  return call === undefined
    ? ofTransport(args[0], Object(args[1] ?? {}) as RpcContext)
    : ofGrpc(args[0] === call ? undefined : args[0], call);
}

function ofTransport(body: unknown, context: RpcContext): RateLimitRequest {
  const socket = context.getSocketRef?.()?.socket;
  return {
    method: 'PATTERN',
    headers: toHeaders(context.getHeaders?.()),
    ...(socket !== undefined && { socket }),
    body,
    context,
    /** Asked late, as guards may set it. What a client sends is never the user. */
    get user() {
      return context.user;
    },
  };
}

function ofGrpc(body: unknown, call: GrpcCall): RateLimitRequest {
  return {
    method: 'PATTERN',
    headers: call.metadata.getMap() as Headers,
    ip: addressOf(call),
    body,
    context: call,
    get user() {
      return call.user ?? call.metadata.user;
    },
  };
}

/** A transport's own headers, or an iterable of their entries. */
function toHeaders(headers: unknown): Headers {
  if (typeof headers !== 'object' || headers === null) return {};
  const entries =
    Symbol.iterator in headers ? (headers as Iterable<[string, unknown]>) : Object.entries(headers);
  return Object.fromEntries([...entries].map(([name, value]) => [name.toLowerCase(), value])) as Headers;
}
