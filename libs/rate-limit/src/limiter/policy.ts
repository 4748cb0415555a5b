import { type AlgorithmOptions, type Rule, compileRule } from '../algorithms/index.js';
import { RateLimitConfigError, show } from '../decision/config-error.js';
import type { FailureMode } from '../decision/decision.js';
import { OptionReader } from '../decision/option-reader.js';

/** Who is counted: a text, or `undefined` for the one bucket that all unknown share. */
export type Key<Context> = (context: Context) => string | undefined;

/**
 * How much of the limit a request takes: a whole number from 0, or a function that says it. 0 only looks: do not let a
 * client say it. A number that is written as text, as in a query, is at least 1.
 */
export type Cost<Context> = number | ((context: Context) => number);

/** A policy as it is written: how it counts, whom, and what to do when the store fails. */
export type PolicyOptions<Context> = AlgorithmOptions & {
  /** Whom to count. Left out: the client's address. */
  key?: Key<Context>;
  /** How much of the limit one request takes. Left out: 1. */
  cost?: Cost<Context>;
  /** Left out: as the module says. */
  onStoreFailure?: FailureMode;
};

/** A policy as it is run. */
export interface Policy<Context> {
  readonly name: string;
  readonly rule: Rule;
  readonly key: Key<Context> | undefined;
  readonly cost: Cost<Context>;
  readonly onStoreFailure: FailureMode;
  /** The rule by which one of so many processes counts when each has only its own memory: with its share of the limit. */
  localRule(instances: number): Rule;
}

export const FAILURE_MODES: readonly FailureMode[] = ['open', 'closed', 'local'];

/** What the wire can carry: the header fields quote the name, and one bad character would void them all. */
const NAME = /^[a-z][a-z0-9._-]{0,63}$/;

/** @throws {RateLimitConfigError} for a name that could not stand in a header field */
export function checkPolicyName(name: string, where = `policy ${JSON.stringify(name)}`): void {
  if (NAME.test(name)) return;
  throw new RateLimitConfigError(
    'INVALID_NAME',
    where,
    `a policy name is 1 to 64 small letters, digits, ".", "_" and "-", and begins with a letter, as it is sent in ` +
      `header fields: not ${show(name)}.`,
  );
}

/**
 * Checks a policy and works out all that can be known before the first request.
 *
 * @param where how messages call it, such as `policy "login"`
 * @throws {RateLimitConfigError} for whatever is wrong
 */
export function compilePolicy<Context>(
  name: string,
  where: string,
  written: unknown,
  onStoreFailure: FailureMode,
): Policy<Context> {
  checkPolicyName(name, where);
  const options = new OptionReader(where, written);
  const rule = compileRule(options);
  const localRules = new Map([[1, rule]]);
  const policy: Policy<Context> = {
    name,
    rule,
    key: options.optionalFunction('key', "a function such as key.ip() or (context) => '…'"),
    cost: readCost(options, 1),
    onStoreFailure: options.oneOf('onStoreFailure', FAILURE_MODES, onStoreFailure),
    localRule: (instances) => {
      const present = localRules.get(instances);
      if (present !== undefined) return present;
      const shared = compileRule(new OptionReader(where, shareOf(written as object, instances)));
      localRules.set(instances, shared);
      return shared;
    },
  };
  options.done();
  return policy;
}

/** Rounded down, so that all together never allow more; but at least 1, or the outage would be a denial. */
function shareOf(written: { limit?: number; burst?: number }, instances: number): object {
  const share = (amount: number) => Math.min(amount, Math.max(1, Math.floor(amount / instances)));
  const { limit, burst } = written;
  return {
    ...written,
    ...(limit !== undefined && { limit: share(limit) }),
    ...(burst !== undefined && { burst: share(burst) }),
  };
}

/** The `cost` option of a policy or of a decorator. */
export function readCost<Context>(options: OptionReader, fallback: Cost<Context>): Cost<Context> {
  const cost = options.value('cost') ?? fallback;
  if (typeof cost === 'function') return cost as Cost<Context>;
  return options.integer('cost', { min: 0, max: Number.MAX_SAFE_INTEGER }, fallback as number);
}
