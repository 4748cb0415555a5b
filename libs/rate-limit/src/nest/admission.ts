import type { ForbiddenDecision } from '../decision/decision.js';
import type { RateLimitContext } from './context.js';
import type { RoutePolicy } from './route-policy.js';
import { ask } from './when/predicate.js';

/** What the lists of policies say of a request. */
export interface Admission {
  /** Those that count it. */
  readonly policies: readonly RoutePolicy[];
  /** Those that do not admit it. */
  readonly forbidden: readonly ForbiddenDecision[];
}

/**
 * Asks the lists of policies, one policy after the other. A promise only where the application has to be waited for.
 *
 * @throws {Error} (or rejects with it) what a function of the application fails with: nobody knows what it would have said
 */
export function admit(
  policies: readonly RoutePolicy[],
  context: RateLimitContext,
): Admission | Promise<Admission> {
  return admitFrom(0, policies, [], context);
}

/** Nobody is asked before the one in front has answered, so that no answer is left alone where another one fails. */
function admitFrom(
  first: number,
  policies: readonly RoutePolicy[],
  answers: Answer[],
  context: RateLimitContext,
): Admission | Promise<Admission> {
  for (let index = first; index < policies.length; index += 1) {
    const answer = answerOf(policies[index]!, context);
    if (answer instanceof Promise) {
      return answer.then((settled) => admitFrom(index + 1, policies, [...answers, settled], context));
    }
    answers.push(answer);
  }
  return toAdmission(policies, answers);
}

type Answer = 'skip' | 'deny' | 'count';

function answerOf({ policy }: RoutePolicy, context: RateLimitContext): Answer | Promise<Answer> {
  const { name, skip, deny } = policy;
  const skipped = skip !== undefined && ask(`policy "${name}" skip`, skip, context);
  const unless = (isSkipped: boolean): Answer | Promise<Answer> => {
    if (isSkipped) return 'skip';
    const denied = deny !== undefined && ask(`policy "${name}" deny`, deny, context);
    return typeof denied === 'boolean' ? toAnswer(denied) : denied.then(toAnswer);
  };
  return typeof skipped === 'boolean' ? unless(skipped) : skipped.then(unless);
}

function toAnswer(isDenied: boolean): Answer {
  return isDenied ? 'deny' : 'count';
}

function toAdmission(policies: readonly RoutePolicy[], answers: readonly Answer[]): Admission {
  const forbidden = policies.flatMap(({ policy: { name, mode } }, index): ForbiddenDecision[] => {
    if (answers[index] !== 'deny') return [];
    return [{ outcome: 'forbidden', policy: name, cost: 0, ...(mode === 'shadow' && { shadow: true }) }];
  });
  return { policies: policies.filter((_, index) => answers[index] === 'count'), forbidden };
}
