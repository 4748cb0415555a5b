import { OptionReader } from '../../decision/option-reader.js';
import { keyResolver, type KeyResolver, requireFieldName } from './resolver.js';

export interface ApiKeyOptions {
  /** The header that carries the key. Left out: `'x-api-key'`. Of `'authorization'` it is what follows `Bearer`. */
  header?: string;
}

/** The user's id, as `identify.user` tells it. Authentication has to run before the limiter. */
export function user(): KeyResolver {
  return keyResolver('user', (context) => context.user, { needs: ['user'] });
}

/** The tenant's id, as `identify.tenant` tells it. */
export function tenant(): KeyResolver {
  return keyResolver('tenant', (context) => context.tenant, { needs: ['tenant'] });
}

/**
 * The API key of a request, as a hash under the module's `secret`: the key itself reaches neither Valkey nor a log. It
 * is what the client says: nobody has checked that there is such a key.
 */
export function apiKey(options: ApiKeyOptions = {}): KeyResolver {
  const reader = new OptionReader('key.apiKey()', options);
  const header = reader.value('header');
  reader.done();
  const field = requireFieldName('key.apiKey()', header === undefined ? 'x-api-key' : header);
  return keyResolver('apiKey', (context) => context.hash(secretIn(field, context.request.headers[field])), {
    hashes: true,
    head: true,
  });
}

/**
 * One key, or nobody. Node joins a field that was sent several times with commas, and who of them is meant is
 * anybody's guess: a client could add one that changes with every request.
 */
function secretIn(field: string, value: string | string[] | undefined): string | undefined {
  if (typeof value !== 'string' || value.includes(',')) return undefined;
  return field === 'authorization' ? value.replace(/^bearer(?:\s+|$)/i, '') : value;
}
