import { RateLimitConfigError } from '../../decision/config-error.js';
import { OptionReader } from '../../decision/option-reader.js';
import { clientAddress } from '../../http/client-address.js';
import type { RateLimitContext } from '../context.js';
import { textOf } from '../text-of.js';
import { keyResolver, type KeyResolver, requireFieldName, requireName } from './resolver.js';

export interface IpOptions {
  /** How many bits of an IPv6 address make one client: 1 to 128. Left out: 64, the smallest network that is given out. */
  ipv6Prefix?: number;
}

/** Header fields that carry secrets, which nobody should read in Valkey. */
const SECRET_FIELDS = new Set(['authorization', 'cookie', 'proxy-authorization', 'x-api-key']);

/**
 * The client's address, as the adapter tells it under its trust-proxy setting. Spellings of one address are one
 * client, and so are the addresses of one IPv6 network.
 */
export function ip(options: IpOptions = {}): KeyResolver {
  const reader = new OptionReader('key.ip()', options);
  const ipv6Prefix = reader.integer('ipv6Prefix', { min: 1, max: 128 }, 64);
  reader.done();
  return keyResolver(
    'ip',
    ({ request }) => clientAddress(request.ip, request.socket?.remoteAddress, ipv6Prefix),
    { head: true },
  );
}

/**
 * A request header; the first, if it was sent several times. The client chooses it: use those that a proxy sets or
 * authentication has checked. Not for secrets: `apiKey` hashes them.
 */
export function header(name: string): KeyResolver {
  const field = requireFieldName('key.header()', name);
  if (SECRET_FIELDS.has(field)) {
    throw new RateLimitConfigError(
      'SECRET_HEADER',
      'key.header()',
      `"${field}" carries a secret, and everybody who may look into Valkey could read it. Use ` +
        `key.apiKey({ header: '${field}' }), or a function that counts by context.hash(…) of what is in it.`,
    );
  }
  const resolve = ({ request }: RateLimitContext) => {
    const value = request.headers[field];
    return textOf(Array.isArray(value) ? value[0] : value);
  };
  return keyResolver(`header.${field}`, resolve, { head: true });
}

/** A member of the parsed body; a dot goes deeper: `'account.email'`. Objects and lists count as missing. */
export function body(path: string): KeyResolver {
  const members = requireName('key.body()', path).split('.');
  return keyResolver(`body.${path}`, ({ request }) => textOf(members.reduce(member, request['body'])));
}

/** A parameter of the route's path: `param('id')` for `products/:id`. */
export function param(name: string): KeyResolver {
  requireName('key.param()', name);
  return keyResolver(`param.${name}`, ({ request }) => textOf(member(request['params'], name)));
}

/** The route that was asked for: `join(ip(), route())` counts every route of every address on its own. */
export function route(): KeyResolver {
  return keyResolver('route', (context) => context.route, { head: true });
}

/** Everybody together: one limit for all clients. */
export function global(): KeyResolver {
  return keyResolver('global', () => 'global', { head: true });
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}
