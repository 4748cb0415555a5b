import { RateLimitConfigError, show } from '../../decision/config-error.js';
import { isOwn, type KeyResolver } from '../keys/resolver.js';
import { textOf } from '../text-of.js';
import { predicate, type Predicate } from './predicate.js';

const WHERE = 'when.key()';

/** What `context.hash` gives. */
const HASH = /^[\w-]{22}$/;

/**
 * Whether the key of a request is one of these: `when.key(key.tenant(), ['evil'])`. They are read once, and there may be
 * any number of them; none mean nobody. A request without a key is not meant.
 *
 * They are compared with what the key counts by. Of `key.apiKey()` that is a hash, as events and the log show it.
 * Addresses have many spellings: they are for `when.network`.
 *
 * @throws {RateLimitConfigError} for what is no key, or no list of texts
 */
export function key(resolver: KeyResolver, values: readonly string[]): Predicate {
  requireKey(resolver);
  const known = new Set(requireTexts(resolver, values));
  const { needs = [], hashes = false, head = false } = resolver;
  return predicate(
    (context) => {
      const subject = textOf(resolver(context));
      return subject !== undefined && known.has(subject);
    },
    { needs, hashes, head, own: isOwn(resolver) },
  );
}

function requireKey(resolver: KeyResolver): void {
  if (typeof resolver !== 'function') {
    throw new RateLimitConfigError(
      'INVALID_KEY',
      WHERE,
      `needs a key function such as key.tenant(), not ${show(resolver)}.`,
    );
  }
  if (resolver.label !== 'ip') return;
  throw new RateLimitConfigError(
    'INVALID_KEY',
    WHERE,
    'key.ip() counts whole networks of IPv6, and an address has many spellings. Use when.network(…).',
  );
}

function requireTexts(resolver: KeyResolver, values: unknown): readonly string[] {
  if (!Array.isArray(values)) throw invalid(`needs a list of texts, not ${show(values)}.`);
  const wrong = values.findIndex((value) => typeof value !== 'string' || value === '');
  if (wrong !== -1) {
    const mend = typeof values[wrong] === 'number' ? ' Convert it first: String(…).' : '';
    throw invalid(`value ${wrong + 1} must be a text that is not empty, not ${show(values[wrong])}.${mend}`);
  }
  const bare = resolver.label === 'apiKey' ? values.findIndex((value: string) => !HASH.test(value)) : -1;
  if (bare === -1) return values as string[];
  // It may be a secret, which no message shows.
  throw invalid(
    `value ${bare + 1} is no hash, and key.apiKey() counts by hashes. Take it from an event or the log, or compare ` +
      "the header itself: (context) => context.request.headers['x-api-key'] === ….",
  );
}

function invalid(problem: string): RateLimitConfigError {
  return new RateLimitConfigError('INVALID_VALUES', WHERE, problem);
}
