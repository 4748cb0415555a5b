import { applyDecorators, type Type, UseInterceptors } from '@nestjs/common';
import { RateLimitConfigError } from '../decision/config-error.js';
import type { PolicyName } from '../limiter/register.js';
import { documentRefusals, type RefusalStatus } from './openapi.js';
import type { InlinePolicy, RateLimitUse } from './options.js';
import { type Place, targetOf } from './route-name.js';
import { SettlingInterceptor } from './settling.interceptor.js';

/** One policy on a class or a handler: by name, or written there. */
export type Use = { readonly policy: unknown; readonly use?: unknown };

/** Every policy that a class or handler skips, or `'all'`. */
export type Skipped = 'all' | readonly unknown[];

const USES = Symbol('nestjs-valkey-rate-limit:uses');
const SKIPPED = Symbol('nestjs-valkey-rate-limit:skipped');

type RateLimitArguments =
  | [policy: InlinePolicy]
  | [policy: PolicyName, ...more: PolicyName[]]
  | [...policies: [PolicyName, ...PolicyName[]], use: RateLimitUse];

/**
 * Limits a handler, or every handler of a class: of HTTP routes, GraphQL operations, gateways and microservices. Policies
 * of the class, of the handler and of `everyRoute` all apply, all or nothing: when one refuses, none of the others has
 * lost anything.
 *
 * A policy that is written at a class is one limit for the handlers of that class together.
 *
 * It also documents the 429 for OpenAPI, for applications with `@nestjs/swagger`; their own `@ApiResponse` goes before.
 *
 * @example
 * ```ts
 * @RateLimit('login')
 * @RateLimit('burst', 'daily')
 * @RateLimit('search', { cost: ({ request }) => request.query.pages })
 * @RateLimit({ algorithm: 'token-bucket', limit: 100, window: '1m', key: key.user() })
 * ```
 */
export function RateLimit(...args: RateLimitArguments): ClassDecorator & MethodDecorator {
  const uses = usesOf(args);
  const limited = extend<readonly Use[]>(USES, (present = []) => [...uses, ...present], documented);
  return uses.some(isSettled) ? applyDecorators(limited, UseInterceptors(SettlingInterceptor)) : limited;
}

/**
 * Takes policies off a handler or a class: those that are named, or all, wherever they come from.
 *
 * @example
 * ```ts
 * @SkipRateLimit()
 * @SkipRateLimit('burst')
 * ```
 */
export function SkipRateLimit(...policies: PolicyName[]): ClassDecorator & MethodDecorator {
  return extend<Skipped>(SKIPPED, (present = []) => {
    return policies.length === 0 || present === 'all' ? 'all' : [...policies, ...present];
  });
}

/** The policies that decorators put on a class or handler, in the order in which they are read. */
export function readUses(target: object): readonly Use[] {
  return (Reflect.getMetadata(USES, target) as readonly Use[] | undefined) ?? [];
}

export function readSkipped(target: object): Skipped {
  return (Reflect.getMetadata(SKIPPED, target) as Skipped | undefined) ?? [];
}

/** Only of these somebody has to see how their handlers end. */
function isSettled({ policy, use }: Use): boolean {
  return [policy, use].some((said) => (Object(said) as { settle?: unknown }).settle !== undefined);
}

function usesOf(args: readonly unknown[]): Use[] {
  const last = args.at(-1);
  const isUse = args.length > 1 && typeof last === 'object' && last !== null && !('algorithm' in last);
  const policies = isUse ? args.slice(0, -1) : args;
  // Nothing at all is kept as well, so that boot can refuse it with the handler's name.
  if (policies.length === 0) return [{ policy: undefined }];
  return policies.map((policy) => (isUse ? { policy, use: last } : { policy }));
}

function documented(place: Place): void {
  documentRefusals(place, () => refusalsAt(targetOf(place)));
}

/** As far as it can be known here: what a policy with a name does when its store fails, only the module's options say. */
function refusalsAt(target: object): RefusalStatus[] {
  if (readSkipped(target) === 'all') return [];
  const policies = readUses(target).map(({ policy }) => Object(policy) as Partial<InlinePolicy>);
  const enforced = policies.filter(({ mode }) => mode !== 'shadow');
  if (enforced.length === 0) return [];
  return [
    ...(enforced.some(({ deny }) => deny !== undefined) ? ([403] as const) : []),
    429,
    ...(enforced.some(({ onStoreFailure }) => onStoreFailure === 'closed') ? ([503] as const) : []),
  ];
}

/**
 * Decorators stack, and a class extends what its parent says.
 *
 * @throws {RateLimitConfigError} at once on what can be no handler, as nobody would look for the metadata there
 */
function extend<Value>(
  name: symbol,
  change: (present: Value | undefined) => Value,
  then?: (place: Place) => void,
): ClassDecorator & MethodDecorator {
  return (target: object, property?: string | symbol, descriptor?: PropertyDescriptor) => {
    const place = placeOf(target, property, descriptor);
    const holder = targetOf(place);
    Reflect.defineMetadata(name, change(Reflect.getMetadata(name, holder) as Value | undefined), holder);
    then?.(place);
  };
}

function placeOf(
  target: object,
  property: string | symbol | undefined,
  descriptor: PropertyDescriptor | undefined,
): Place {
  const controller = (typeof target === 'function' ? target : target.constructor) as Type;
  if (property === undefined) return { controller };
  const method: unknown = descriptor?.value;
  if (typeof target !== 'function' && typeof method === 'function') {
    return { controller, handler: { name: String(property), method } };
  }
  throw new RateLimitConfigError(
    'NOT_A_ROUTE',
    `${controller.name}.${String(property)}`,
    '@RateLimit and @SkipRateLimit work on classes and their methods, not on static methods, accessors or properties.',
  );
}
