import type { CallArguments, Refusal } from './context-adapter.js';

/** What is used of the metadata of a call. Its class makes that of an answer, so that nothing has to be imported. */
interface Metadata {
  getMap(): Record<string, unknown>;
  set(name: string, value: string): void;
  readonly user?: unknown;
}

/** What is used of a call. */
export interface GrpcCall {
  readonly metadata: Metadata;
  getPeer(): string;
  readonly user?: unknown;
}

/** https://grpc.github.io/grpc/core/md_doc_statuscodes.html */
const RESOURCE_EXHAUSTED = 8;
const CODES: Readonly<Record<number, number>> = { 403: 7, 429: RESOURCE_EXHAUSTED, 503: 14 };

const SECOND_MS = 1_000;

/** The call of a handler's arguments; `undefined` for those of other transports, whose data has no functions. */
export function grpcCallOf(args: CallArguments): GrpcCall | undefined {
  const call = args[2] ?? args[0];
  return isCall(call) ? call : undefined;
}

function isCall(value: unknown): value is GrpcCall {
  if (typeof value !== 'object' || value === null) return false;
  const { getPeer, metadata } = value as Partial<GrpcCall>;
  return typeof getPeer === 'function' && typeof metadata?.getMap === 'function';
}

/** Without the port, which gRPC puts behind IPv6 addresses without brackets too. */
export function addressOf(call: GrpcCall): string {
  const peer = call.getPeer();
  const port = peer.lastIndexOf(':');
  return port === -1 ? peer : peer.slice(0, port);
}

/**
 * What gRPC sends of an error. Clients that retry wait as long as `grpc-retry-pushback-ms` says, and do not where it is
 * negative (gRFC A6).
 */
export function toGrpcStatus({ status, retryAfter, detail }: Refusal, { metadata }: GrpcCall): object {
  const trailers = new (metadata.constructor as new () => Metadata)();
  trailers.set('grpc-retry-pushback-ms', String(retryAfter === undefined ? -1 : retryAfter * SECOND_MS));
  if (retryAfter !== undefined) trailers.set('retry-after', String(retryAfter));
  return { code: CODES[status] ?? RESOURCE_EXHAUSTED, message: detail, details: detail, metadata: trailers };
}
