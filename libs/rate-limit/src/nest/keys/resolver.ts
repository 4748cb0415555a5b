import { RateLimitConfigError, show } from '../../decision/config-error.js';
import type { Key } from '../../limiter/policy.js';
import type { RateLimitContext } from '../context.js';

/** What has to be known of whoever sends a request before a key can be worked out. */
export type KeyNeed = 'user' | 'tenant' | 'plan';

/** What those of `key` know of themselves, and a function of the application need not say. */
export interface KeyTraits {
  /** What of the client's identity it asks for. Left out: nothing. */
  readonly needs?: readonly KeyNeed[];
  /** Whether it hashes a secret, which takes the module's `secret`. */
  readonly hashes?: boolean;
  /** Whether a function of the application is part of it. */
  readonly own?: boolean;
  /** Whether it reads nothing but the head of the request: the address, the header fields and the route. */
  readonly head?: boolean;
  /** Whether a request has nobody to count by. Left out: nothing of what it needs is known. */
  readonly isNobody?: (context: RateLimitContext) => boolean;
}

/**
 * Whom to count. Any function of the context will do; those of `key` know what they are called, which keeps `firstOf`
 * from taking a user's id for an address, and what they need, so that boot can refuse what could never work.
 */
export type KeyResolver = Key<RateLimitContext> & KeyTraits & { readonly label?: string };

export function keyResolver(
  label: string,
  resolve: Key<RateLimitContext>,
  traits: KeyTraits = {},
): KeyResolver {
  return Object.assign(resolve, { label, ...traits });
}

/** Of a function of the application nobody knows what it reads, unless it says so: it may be the user or tenant. */
export function isOwn({ own, label, needs }: Partial<KeyResolver>): boolean {
  return own ?? (label === undefined && needs === undefined);
}

/** What all parts of a key, or of a list, need together. */
export function traitsOf(parts: readonly Partial<KeyResolver>[]) {
  return {
    needs: [...new Set(parts.flatMap(({ needs = [] }) => needs))],
    hashes: parts.some(({ hashes }) => hashes === true),
    own: parts.some(isOwn),
    head: parts.every(({ head }) => head === true),
  };
}

/** Whether a key that asks for somebody's identity finds nobody. One that does not ask always has something. */
export function isNobody(resolver: KeyResolver, context: RateLimitContext): boolean {
  if (resolver.isNobody !== undefined) return resolver.isNobody(context);
  const { needs = [] } = resolver;
  return needs.length > 0 && needs.every((part) => context[part] === undefined);
}

/** What a field's name may consist of: RFC 9110 §5.6.2. */
const FIELD_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;

export function requireName(where: string, name: unknown): string {
  if (typeof name === 'string' && name !== '') return name;
  throw new RateLimitConfigError('INVALID_KEY', where, `needs a name, not ${show(name)}.`);
}

/** The name of a header field as Node writes it: in small letters. */
export function requireFieldName(where: string, name: unknown): string {
  const field = requireName(where, name);
  if (FIELD_NAME.test(field)) return field.toLowerCase();
  throw new RateLimitConfigError(
    'INVALID_KEY',
    where,
    `no header can be called ${show(name)}. Use letters, digits and '-', such as 'x-client'.`,
  );
}
