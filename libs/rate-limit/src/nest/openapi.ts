import { HttpStatus, RequestMethod } from '@nestjs/common';
import { HTTP_CODE_METADATA, METHOD_METADATA } from '@nestjs/common/constants.js';
import type { Decision } from '../decision/decision.js';
import { type Problem, refuse } from '../http/problem.js';
import { type Place, targetOf } from './route-name.js';

/** The statuses with which a request is refused. */
export type RefusalStatus = 403 | 429 | 503;

type Responses = Readonly<Record<string, unknown>>;

/**
 * Under which @nestjs/swagger 12 keeps the responses of a class or handler, by status. Nothing of it is imported: where
 * it is not installed, or keeps them elsewhere, nobody reads what is written here.
 */
const RESPONSES = 'swagger/apiResponse';

/** Under which its compiler plugin keeps what it knows of a class. */
const PLUGIN_FACTORY = '_OPENAPI_METADATA_FACTORY';

/**
 * Documents the refusals of a class or handler for OpenAPI, unless the application documents that status itself.
 *
 * @param statuses asked when all decorators of the class have run
 */
export function documentRefusals(place: Place, statuses: () => readonly RefusalStatus[]): void {
  // Not at once: a decorator of the application that runs later would be merged with this, and must win. A promise,
  // because queueMicrotask is what fake timers put off.
  void Promise.resolve().then(() => write(place, statuses()));
}

function write(place: Place, statuses: readonly RefusalStatus[]): void {
  const target = targetOf(place);
  const present = responsesAt(target);
  const said = { ...responsesAt(place.controller), ...present };
  const missing = statuses.filter((status) => said[status] === undefined);
  if (missing.length === 0) return;
  const others = present === undefined ? answersOf(place) : { ...present };
  const added = Object.fromEntries(missing.map((status) => [status, refusals[status]()]));
  Reflect.defineMetadata(RESPONSES, Object.assign(others, added), target);
}

function responsesAt(target: object): Responses | undefined {
  return Reflect.getMetadata(RESPONSES, target) as Responses | undefined;
}

/**
 * What swagger says of a handler that documents nothing. It would not say it any more where something is documented, so
 * it has to stand there as well. The plugin is asked when the document is made, because its metadata may be loaded late.
 */
function answersOf({ controller, handler }: Place): object {
  if (handler === undefined) return {};
  const isPost = Reflect.getMetadata(METHOD_METADATA, handler.method) === RequestMethod.POST;
  const written = Reflect.getMetadata(HTTP_CODE_METADATA, handler.method) as number | undefined;
  const plugin = controller as { readonly [PLUGIN_FACTORY]?: () => Readonly<Record<string, Responses>> };
  return {
    get [written ?? (isPost ? HttpStatus.CREATED : HttpStatus.OK)]() {
      const { type, description = '' } = plugin[PLUGIN_FACTORY]?.()[handler.name] ?? {};
      return Array.isArray(type) ? { description, type: type[0], isArray: true } : { description, type };
    },
  };
}

/** Made anew each time, because a document belongs to the application, which may change it. */
const refusals: Readonly<Record<RefusalStatus, () => object>> = {
  403: () => ({
    description: 'A list does not admit this client, whatever is left of any limit.',
    headers: {},
    content: contentOf({ outcome: 'forbidden', policy: 'api', cost: 0 }),
  }),
  429: () => ({
    description: 'Too many requests: a limit is exceeded, and nothing was taken from any limit.',
    headers: {
      'Retry-After': {
        description: 'After how many seconds the same request can pass. Missing where it never can.',
        schema: { type: 'integer', minimum: 1 },
      },
      RateLimit: {
        description: 'Of each limit that is exceeded, what is left (r) and for how many seconds (t).',
        schema: { type: 'string', example: '"api";r=0;t=2' },
      },
      'RateLimit-Policy': {
        description: 'Of each limit, how much it allows (q) in how many seconds (w).',
        schema: { type: 'string', example: '"api";q=5;w=10' },
      },
    },
    content: contentOf({
      outcome: 'denied',
      policy: 'api',
      limit: 5,
      cost: 0,
      store: 'valkey',
      at: 0,
      remaining: 0,
      nextMs: 2_000,
      resetMs: 10_000,
      retryAfterMs: 2_000,
    }),
  }),
  503: () => ({
    description:
      'Whether a limit is exceeded cannot be decided at the moment, and without that nobody may pass.',
    headers: {
      'Retry-After': {
        description: 'After how many seconds to try again.',
        schema: { type: 'integer', minimum: 1 },
      },
    },
    content: contentOf({
      outcome: 'unavailable',
      policy: 'api',
      limit: 5,
      cost: 0,
      onStoreFailure: 'closed',
      cause: new Error('only for the example'),
    }),
  }),
};

/** The problem document that is sent for a decision, which is its example. */
function contentOf(decision: Decision): object {
  const { problem: example } = refuse([decision]);
  const schema = {
    type: 'object',
    required: Object.keys(example),
    properties: propertiesOf(example),
    example,
  };
  return { 'application/problem+json': { schema } };
}

function propertiesOf({ status, 'violated-policies': violated }: Problem): object {
  return {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer', enum: [status] },
    detail: { type: 'string' },
    ...(violated !== undefined && { 'violated-policies': { type: 'array', items: { type: 'string' } } }),
  };
}
