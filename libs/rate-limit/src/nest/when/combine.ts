import { RateLimitConfigError, show } from '../../decision/config-error.js';
import type { RateLimitContext } from '../context.js';
import { traitsOf } from '../keys/resolver.js';
import { ask, predicate, type Predicate } from './predicate.js';

type Parts = [Predicate, ...Predicate[]];

/** One of them says yes. They are asked in this order, and none after it. */
export function any(...predicates: Parts): Predicate {
  return combined('when.any()', predicates, true);
}

/** All of them say yes. They are asked in this order, and none after one that says no. */
export function all(...predicates: Parts): Predicate {
  return combined('when.all()', predicates, false);
}

/** It says no: `deny: when.not(when.network('10.0.0.0/8'))` is for the office alone. */
export function not(asked: Predicate): Predicate {
  const where = 'when.not()';
  requirePredicates(where, [asked]);
  return predicate(
    (context) => {
      const answer = ask(where, asked, context);
      return typeof answer === 'boolean' ? !answer : answer.then((yes) => !yes);
    },
    traitsOf([asked]),
  );
}

/** @param decisive the answer after which the others need not be asked */
function combined(where: string, parts: readonly Predicate[], decisive: boolean): Predicate {
  requirePredicates(where, parts);
  const askFrom = (start: number, context: RateLimitContext): boolean | Promise<boolean> => {
    for (let index = start; index < parts.length; index += 1) {
      const answer = ask(where, parts[index]!, context);
      if (answer === decisive) return decisive;
      if (typeof answer === 'boolean') continue;
      return answer.then((settled) => (settled === decisive ? decisive : askFrom(index + 1, context)));
    }
    return !decisive;
  };
  return predicate((context) => askFrom(0, context), traitsOf(parts));
}

function requirePredicates(where: string, predicates: readonly unknown[]): void {
  const wrong = predicates.findIndex((asked) => typeof asked !== 'function');
  if (predicates.length > 0 && wrong === -1) return;
  throw new RateLimitConfigError(
    'INVALID_PREDICATE',
    where,
    `needs functions such as when.network('10.0.0.0/8') or (context) => …, not ${show(predicates[wrong])}.`,
  );
}
