import type { WsException } from '@nestjs/websockets';
import type { RateLimitRequest } from '../context.js';
import { withoutStack } from '../rate-limit.exception.js';
import { detail, targetOf } from '../route-name.js';
import { patternText } from './pattern-text.js';
import type { CallArguments, ContextAdapter } from './context-adapter.js';
import { membersOf } from './members.js';

// What @nestjs/websockets leaves on gateways and their handlers.
const GATEWAY = 'websockets:is_gateway';
const GATEWAY_OPTIONS = 'websockets:gateway_options';
const MESSAGE_MAPPING = 'websockets:message_mapping';
const MESSAGE = 'message';

type Headers = RateLimitRequest['headers'];

/** What is used of a client of socket.io, and of one of ws, which keeps nothing of its handshake itself. */
interface Client {
  readonly handshake?: { readonly headers: Headers; readonly address?: string };
  readonly request?: { readonly headers?: Headers };
  readonly _socket?: { readonly remoteAddress?: string };
  readonly user?: unknown;
  readonly data?: { readonly user?: unknown };
}

let Exception: typeof WsException | undefined;

/** Messages to gateways: `(client, data, …)`. */
export const ws: ContextAdapter = {
  type: 'ws',
  classes: 'providers',
  hasEveryRoute: false,
  isRefusedEarly: false,
  handles: (place) =>
    Reflect.hasMetadata(MESSAGE_MAPPING, targetOf(place)) && Reflect.hasMetadata(GATEWAY, place.controller),
  /** Without the port, which may be another in each instance. */
  routeId(place) {
    const { namespace, path } = (Reflect.getMetadata(GATEWAY_OPTIONS, place.controller) ?? {}) as {
      readonly namespace?: unknown;
      readonly path?: unknown;
    };
    return ['message', ...detail('namespace', namespace), ...detail('path', path), messageOf(place)].join(
      ':',
    );
  },
  textOf: (place) => `message ${messageOf(place)}`,
  callOf: (args) => args,
  requestOf,
  setterOf: () => undefined,
  toError: (refusal) => withoutStack(() => new Exception!(membersOf(refusal))),
  async load() {
    ({ WsException: Exception } = await import('@nestjs/websockets'));
  },
};

function messageOf(place: Parameters<typeof targetOf>[0]): string {
  return patternText(Reflect.getMetadata(MESSAGE, targetOf(place)));
}

function requestOf([given, body]: CallArguments): RateLimitRequest {
  const client = given as Client;
  const { handshake, request, _socket: socket } = client;
  return {
    method: 'MESSAGE',
    headers: handshake?.headers ?? request?.headers ?? {},
    ...(handshake?.address !== undefined && { ip: handshake.address }),
    ...(socket !== undefined && { socket }),
    body,
    client,
    /** Asked late, as guards may set it. */
    get user() {
      return client.user ?? client.data?.user;
    },
  };
}
