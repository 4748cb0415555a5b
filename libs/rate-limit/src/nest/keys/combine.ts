import { RateLimitConfigError, show } from '../../decision/config-error.js';
import type { Key } from '../../limiter/policy.js';
import type { RateLimitContext } from '../context.js';
import { textOf } from '../text-of.js';
import { isNobody, keyResolver, type KeyResolver, traitsOf } from './resolver.js';

type Parts = [Key<RateLimitContext>, ...Key<RateLimitContext>[]];

/**
 * All of them together: `join(ip(), body('username'))` counts every user name of every address on its own. Unknown only
 * when every part is.
 */
export function join(...resolvers: Parts): KeyResolver {
  const parts = requireResolvers('key.join()', resolvers);
  const resolve = (context: RateLimitContext) => {
    const subjects = parts.map((resolver) => textOf(resolver(context)));
    if (subjects.every((subject) => subject === undefined)) return undefined;
    // A part that is missing is empty, which no part that is there can be.
    return subjects.map((subject) => escapePart(subject ?? '')).join('|');
  };
  return keyResolver(parts.map(labelOf).join('|'), resolve, {
    ...traitsOf(parts),
    isNobody: (context) => parts.some((part) => isNobody(part, context)),
  });
}

/** The first that is there: `firstOf(user(), ip())` counts users, and addresses where nobody is logged in. */
export function firstOf(...resolvers: Parts): KeyResolver {
  const all = requireResolvers('key.firstOf()', resolvers);
  const parts = all.map((resolver, index) => ({
    resolver,
    // The number keeps them apart, whatever they are called; the label is for those who read keys.
    prefix: `${index + 1}.${labelOf(resolver, index)}=`,
  }));
  const resolve = (context: RateLimitContext) => {
    for (const { resolver, prefix } of parts) {
      const subject = textOf(resolver(context));
      if (subject !== undefined) return prefix + subject;
    }
    return undefined;
  };
  return keyResolver('firstOf', resolve, {
    ...traitsOf(all),
    isNobody: (context) => all.every((part) => isNobody(part, context)),
  });
}

function labelOf(resolver: KeyResolver, index: number): string {
  return resolver.label ?? `key${index + 1}`;
}

function escapePart(part: string): string {
  return part.replace(/[%|]/g, (character) => (character === '%' ? '%25' : '%7C'));
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
