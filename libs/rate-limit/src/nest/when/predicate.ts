import { RateLimitConfigError, show } from '../../decision/config-error.js';
import type { RateLimitContext } from '../context.js';
import type { KeyTraits } from '../keys/resolver.js';
import { isThenable } from '../thenable.js';

/** What those of `when` know of themselves, as keys do. With `head`, the answer is also never a promise. */
export type PredicateTraits = Pick<KeyTraits, 'needs' | 'hashes' | 'own' | 'head'>;

/**
 * Whether a request is meant. Any function of the context will do; those of `when` know what they need, so that boot
 * can refuse what could never work.
 *
 * `true` is yes. `false`, `undefined` and `null` are no, as in `request.user?.isStaff` of nobody. Anything else is an
 * error, because it could be meant either way: neither does 1 skip a limit nor 0 let through whom it should deny.
 */
export type Predicate = ((context: RateLimitContext) => boolean | Promise<boolean>) & PredicateTraits;

export function predicate(
  answer: (context: RateLimitContext) => boolean | Promise<boolean>,
  traits: PredicateTraits,
): Predicate {
  return Object.assign(answer, traits);
}

/**
 * What a predicate answers: a promise only where the application has to be waited for.
 *
 * @param where how messages call it, such as `policy "login" skip`
 * @throws {RateLimitConfigError} (or rejects with it) for an answer that is neither yes nor no
 */
export function ask(where: string, asked: Predicate, context: RateLimitContext): boolean | Promise<boolean> {
  const answer: unknown = asked(context);
  if (isThenable(answer)) return Promise.resolve(answer).then((settled) => isYes(where, settled));
  return isYes(where, answer);
}

function isYes(where: string, answer: unknown): boolean {
  if (typeof answer === 'boolean') return answer;
  if (answer === undefined || answer === null) return false;
  // What a text says may be a secret.
  const got = typeof answer === 'string' ? 'a text' : show(answer);
  throw new RateLimitConfigError(
    'INVALID_ANSWER',
    where,
    `its function must answer true or false, not ${got}. Compare what it gives, or convert it: Boolean(…).`,
  );
}
