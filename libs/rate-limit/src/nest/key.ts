import { RateLimitConfigError, show } from '../decision/config-error.js';
import { OptionReader } from '../decision/option-reader.js';
import { clientAddress } from '../http/client-address.js';
import type { Key } from '../limiter/policy.js';
import { type RateLimitContext, textOf } from './context.js';

/**
 * Whom to count. Any function of the context will do; those of {@link key} know what they are called, which keeps
 * `firstOf` from taking a user's id for an address.
 */
export type KeyResolver = Key<RateLimitContext> & { readonly label?: string };

export interface IpOptions {
  /** How many bits of an IPv6 address make one client: 1 to 128. Left out: 64, the smallest network that is given out. */
  ipv6Prefix?: number;
}

/**
 * The client's address, as the adapter tells it under its trust-proxy setting. Spellings of one address are one
 * client, and so are the addresses of one IPv6 network.
 */
function ip(options: IpOptions = {}): KeyResolver {
  const reader = new OptionReader('key.ip()', options);
  const ipv6Prefix = reader.integer('ipv6Prefix', { min: 1, max: 128 }, 64);
  reader.done();
  return labelled('ip', ({ request }) =>
    clientAddress(request.ip, request.socket?.remoteAddress, ipv6Prefix),
  );
}

/** The user's id, as `identify.user` tells it. Authentication has to run before the limiter. */
function user(): KeyResolver {
  return labelled('user', (context) => context.user);
}

/** A request header; the first, if it was sent several times. */
function header(name: string): KeyResolver {
  const field = requireName('key.header()', name).toLowerCase();
  return labelled(`header.${field}`, ({ request }) => {
    const value = request.headers[field];
    return textOf(Array.isArray(value) ? value[0] : value);
  });
}

/** A member of the parsed body; a dot goes deeper: `'account.email'`. Objects and lists count as missing. */
function body(path: string): KeyResolver {
  const members = requireName('key.body()', path).split('.');
  return labelled(`body.${path}`, ({ request }) => textOf(members.reduce(member, request['body'])));
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}

/** Everybody together: one limit for all clients. */
function global(): KeyResolver {
  return labelled('global', () => 'global');
}

/**
 * All of them together: `join(ip(), body('username'))` counts every user name of every address on its own. Unknown only
 * when every part is.
 */
function join(...resolvers: [Key<RateLimitContext>, ...Key<RateLimitContext>[]]): KeyResolver {
  const parts = requireResolvers('key.join()', resolvers);
  return labelled(parts.map(labelOf).join('|'), (context) => {
    const subjects = parts.map((resolver) => textOf(resolver(context)));
    if (subjects.every((subject) => subject === undefined)) return undefined;
    // A part that is missing is empty, which no part that is there can be.
    return subjects.map((subject) => escapePart(subject ?? '')).join('|');
  });
}

/** The first that is there: `firstOf(user(), ip())` counts users, and addresses where nobody is logged in. */
function firstOf(...resolvers: [Key<RateLimitContext>, ...Key<RateLimitContext>[]]): KeyResolver {
  const parts = requireResolvers('key.firstOf()', resolvers).map((resolver, index) => ({
    resolver,
    // The number keeps them apart, whatever they are called; the label is for those who read keys.
    prefix: `${index + 1}.${labelOf(resolver, index)}=`,
  }));
  return labelled('firstOf', (context) => {
    for (const { resolver, prefix } of parts) {
      const subject = textOf(resolver(context));
      if (subject !== undefined) return prefix + subject;
    }
    return undefined;
  });
}

/**
 * The key resolvers.
 *
 * @example
 * key.join(key.ip(), key.body('username'))
 */
export const key = { ip, user, header, body, global, join, firstOf } as const;

function labelled(label: string, resolver: Key<RateLimitContext>): KeyResolver {
  return Object.assign(resolver, { label });
}

function labelOf(resolver: KeyResolver, index: number): string {
  return resolver.label ?? `key${index + 1}`;
}

function escapePart(part: string): string {
  return part.replace(/[%|]/g, (character) => (character === '%' ? '%25' : '%7C'));
}

function requireName(where: string, name: unknown): string {
  if (typeof name === 'string' && name !== '') return name;
  throw new RateLimitConfigError('INVALID_KEY', where, `needs a name, not ${show(name)}.`);
}

function requireResolvers(where: string, resolvers: readonly KeyResolver[]): readonly KeyResolver[] {
  const wrong = resolvers.findIndex((resolver) => typeof resolver !== 'function');
  if (resolvers.length > 0 && wrong === -1) return resolvers;
  throw new RateLimitConfigError(
    'INVALID_KEY',
    where,
    `needs key functions such as key.ip(), not ${show(resolvers[wrong])}.`,
  );
}
