import type { RateLimitRequest } from '../context.js';
import { type HandlerPlace, targetOf } from '../route-name.js';
import { toGraphQLException } from './graphql-exception.js';
import { connectionOf } from './graphql-connection.js';
import type { CallArguments, ContextAdapter, HttpAdapter } from './context-adapter.js';
import { membersOf } from './members.js';
import { setTogether, tellTogether, type Told } from './told.js';

// What @nestjs/graphql leaves on resolvers and their methods.
const RESOLVER_TYPE = 'graphql:resolver_type';
const RESOLVER_NAME = 'graphql:resolver_name';
const FIELD_RESOLVER = 'graphql:resolve_property';
const REFERENCE_RESOLVER = 'graphql:resolve_reference';

/** Methods of other types resolve a field of an object, and run without guards. */
const ROOT_TYPES: ReadonlySet<unknown> = new Set(['Query', 'Mutation', 'Subscription']);

/** On a request of Fastify, which does not tell the reply that belongs to it. */
const REPLY = Symbol('nestjs-valkey-rate-limit:reply');

interface Fastify {
  addHook(name: 'onRequest', hook: (request: object, reply: unknown, done: () => void) => void): void;
}

/** What has been told of the operations of one HTTP request. */
const told = new WeakMap<object, Told>();

/** Root fields of operations: `(parent, arguments, context, info)`. Each field counts, under whatever alias. */
export const graphql: ContextAdapter = {
  type: 'graphql',
  classes: 'providers',
  hasEveryRoute: false,
  isRefusedEarly: false,
  handles: (place) => ROOT_TYPES.has(typeOf(place)),
  unfit: (place) =>
    [FIELD_RESOLVER, REFERENCE_RESOLVER].some((name) => Reflect.hasMetadata(name, targetOf(place)))
      ? 'Guards do not run for the fields of objects, which are resolved once for each object: limit the query or mutation ' +
        'that gives them.'
      : undefined,
  routeId: (place) => `${textOf(place).replace(' ', ':')}`,
  textOf,
  callOf: (args) => args,
  requestOf([, body, context]) {
    const { request, user } = connectionOf(context);
    return Object.create(request, {
      body: { value: body, enumerable: true },
      /** Asked late, as guards may set it. */
      user: { get: user, enumerable: true },
      ...('headers' in request ? {} : { headers: { value: {}, enumerable: true } }),
    }) as RateLimitRequest;
  },
  setterOf(args, adapter) {
    const shared = toldOf(args);
    if (shared === undefined) return undefined;
    const { request } = connectionOf(args[2]);
    // Express keeps the response on the request.
    const response = (request as { [REPLY]?: unknown })[REPLY] ?? (request as { res?: unknown }).res;
    const nowhere = response === undefined || adapter === undefined;
    return setTogether(
      shared,
      nowhere ? () => {} : (name, value) => adapter.setHeader(response, name, value),
    );
  },
  toldOf,
  toError(refusal, args) {
    const fields = toldOf(args)?.fields;
    const members = membersOf(refusal);
    // Read by Apollo, which takes it off.
    const extensions =
      fields === undefined ? members : { ...members, http: { status: refusal.status, headers: fields } };
    return toGraphQLException(refusal, extensions);
  },
  prepare(adapter: HttpAdapter) {
    if (adapter?.getType() !== 'fastify') return;
    adapter.getInstance<Fastify>().addHook('onRequest', (request, reply, done) => {
      (request as { [REPLY]?: unknown })[REPLY] = reply;
      done();
    });
  },
};

function typeOf(place: HandlerPlace): unknown {
  return (
    Reflect.getMetadata(RESOLVER_TYPE, targetOf(place)) ??
    Reflect.getMetadata(RESOLVER_TYPE, place.controller)
  );
}

function textOf(place: HandlerPlace): string {
  const name: unknown = Reflect.getMetadata(RESOLVER_NAME, targetOf(place)) ?? place.handler.name;
  return `${String(typeOf(place)).toLowerCase()} ${String(name)}`;
}

/** One for all that an HTTP request asks for; `undefined` where the answer is none of HTTP. */
function toldOf([, , context, info]: CallArguments): Told | undefined {
  const { request, isHttp } = connectionOf(context);
  const { operation } = Object(info ?? {}) as { readonly operation?: { readonly operation?: string } };
  if (!isHttp || operation?.operation === 'subscription') return undefined;
  const present = told.get(request);
  if (present !== undefined) return present;
  const made = tellTogether();
  told.set(request, made);
  return made;
}
