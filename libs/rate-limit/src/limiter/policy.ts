import { type AlgorithmName, type AlgorithmOptions, compileRule, type Rule } from '../algorithms/index.js';
import { penalize, type PenaltyOptions } from '../algorithms/penalty/penalty.js';
import { RateLimitConfigError, show } from '../decision/config-error.js';
import type { FailureMode } from '../decision/decision.js';
import type { Duration } from '../decision/duration.js';
import { OptionReader } from '../decision/option-reader.js';
import type { Slicing } from './hot-key.js';
import {
  compileLimit,
  compilePlans,
  type Limit,
  type LimitNumbers,
  type PlanLimit,
  type PlanLimits,
  type ToRule,
} from './limit.js';

/** Who is counted: a text, or `undefined` for the one bucket that all unknown share. */
export type Key<Context> = (context: Context) => string | undefined;

/**
 * How much of the limit a request takes: a whole number from 0, or a function that says it. 0 only looks: do not let a
 * client say it. A number that is written as text, as in a query, is at least 1.
 */
export type Cost<Context> = number | ((context: Context) => number);

/** Whether something is so of a request. Only `true` is yes; a promise is waited for. */
export type Predicate<Context> = (context: Context) => boolean | Promise<boolean>;

/** Whether a policy refuses, or only says what it would have done. */
export type PolicyMode = 'enforced' | 'shadow';

/** What a policy says beside how it counts. */
export interface PolicySettings<Context> {
  /** Whom to count. Left out: the client's address, or, of a policy by plan, the tenant, or user where nothing tells it. */
  key?: Key<Context>;
  /** How much of the limit one request takes. Left out: 1. */
  cost?: Cost<Context>;
  /** Left out: as the module says. */
  onStoreFailure?: FailureMode;
  /** `'shadow'`: decides, counts and reports, and never rejects (docs/policies.md). Left out: `'enforced'`. */
  mode?: PolicyMode;
  /** Who is not counted and not limited, such as `when.network('192.0.2.0/24')`. */
  skip?: Predicate<Context>;
  /** Who is refused, whatever is left: with 403, and nothing is counted. Whoever is skipped is not asked about. */
  deny?: Predicate<Context>;
  /** Blocks whoever goes on asking although it is refused. Of all algorithms but concurrency. */
  penalty?: PenaltyOptions;
  /** Of fixed-window, quota and token-bucket: for keys with thousands of requests a second (docs/hot-keys.md). */
  slice?: SliceOptions;
}

/** How a process takes part of a hot key's limit at once, and spends it itself. */
export interface SliceOptions {
  /** Of the full limit, or of the burst: how much a process takes at once at the most. Above 0, up to 0.5. */
  share: number;
  /** After which time it gives back what it has not spent: 1 ms to 1 s. Left out: 100 ms. */
  for?: Duration;
}

/** The same policy with other numbers for each plan. See `byPlan`. */
export interface PlannedOptions<Plan extends string = string> {
  /** Not all of them, as policies that are written together may have different plans. */
  plans: { [Name in Plan]?: AlgorithmOptions | 'unlimited' };
  default: NoInfer<Plan>;
}

/** A policy as it is written: how it counts, whom, and what to do when the store fails. */
export type PolicyOptions<Context, Plan extends string = string> = PolicySettings<Context> &
  (AlgorithmOptions | PlannedOptions<Plan>);

/** A policy as it is run. */
export interface Policy<Context> {
  readonly name: string;
  /** The rule of those whose plan is not known. Every plan has the same algorithm. */
  readonly rule: Rule;
  readonly key: Key<Context> | undefined;
  readonly cost: Cost<Context>;
  readonly onStoreFailure: FailureMode;
  readonly slice: Slicing | undefined;
  readonly mode: PolicyMode;
  readonly skip: Predicate<Context> | undefined;
  readonly deny: Predicate<Context> | undefined;
  /** Whether it is no limit of a client: who is denied by it is shed. */
  readonly sheds: boolean;
  /** What a plan allows: of an unknown plan, what the default allows. */
  limitOf(plan: string | undefined): PlanLimit;
  /** Whether one of its limits counts by a calendar whose time zone is not named. */
  readonly zoned: boolean;
  /** What plans there are; none where it does not go by plan. */
  readonly plans: readonly string[];
  /**
   * What it says with other numbers, for whoever has some.
   *
   * @throws {RateLimitConfigError} for numbers that it cannot have
   */
  changed(plan: string | undefined, numbers: LimitNumbers): Limit;
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
  const {
    key: _,
    cost: _cost,
    onStoreFailure: _failure,
    mode: _mode,
    skip: _skip,
    deny: _deny,
    penalty,
    slice: _slice,
    ...counting
  } = written as PolicySettings<Context>;
  options.value('penalty');
  if ('settle' in counting) {
    throw new RateLimitConfigError(
      'SETTLE_AT_HANDLER',
      where,
      `settle is said where the policy is used: @RateLimit('${name}', { settle: … }).`,
    );
  }
  const toRule: ToRule =
    penalty === undefined ? compileRule : (each) => penalize(compileRule(each), where, penalty);
  const limits =
    'plans' in counting
      ? compilePlans(where, options.value('plans'), options.value('default'), toRule)
      : compileLimit(options, counting, toRule);
  const settings = {
    name,
    key: options.optionalFunction<Key<Context>>('key', "a function such as key.ip() or (context) => '…'"),
    cost: readCost<Context>(options, 1),
    onStoreFailure: options.oneOf('onStoreFailure', FAILURE_MODES, onStoreFailure),
    sheds: false,
    mode: options.oneOf<PolicyMode>('mode', ['enforced', 'shadow'], 'enforced'),
    skip: readPredicate<Context>(options, 'skip'),
    deny: readPredicate<Context>(options, 'deny'),
  };
  const slice = options.value('slice');
  options.done();
  const numbers = limitsOf(limits);
  const slicing = slice === undefined ? undefined : readSlice(where, slice, numbers.rule);
  return { ...settings, slice: slicing, ...numbers };
}

/** Where it does not matter when exactly something was spent that was taken before. */
export const SLICED: readonly AlgorithmName[] = ['fixed-window', 'quota', 'token-bucket'];

/** Why the others have no slices. */
const NOT_SLICED: Partial<Record<AlgorithmName, string>> = {
  'leaky-bucket': 'it gives each request its turn, and only the store knows the queue',
  concurrency: 'it holds places for as long as requests run, and a slice would hold them for nobody',
};

function readPredicate<Context>(options: OptionReader, name: 'skip' | 'deny') {
  const wanted = "a function that answers true or false, such as when.network('192.0.2.0/24')";
  return options.optionalFunction<Predicate<Context>>(name, wanted);
}

function readSlice(where: string, written: unknown, { algorithm, penalty }: Rule): Slicing {
  if (penalty !== undefined) {
    throw new RateLimitConfigError(
      'NO_SLICES',
      where,
      'a policy has a slice or a penalty, not both: refusals in a row are counted where all of them are known.',
    );
  }
  if (!SLICED.includes(algorithm)) {
    const why =
      NOT_SLICED[algorithm] ?? 'it counts the moment of each request, and what is spent here has none there';
    throw new RateLimitConfigError(
      'NO_SLICES',
      where,
      `${algorithm} has no slice: ${why}. Leave slice out, or choose ${SLICED.join(', ')}.`,
    );
  }
  const options = new OptionReader(`${where} slice`, written);
  const share = options.value('share');
  if (typeof share !== 'number' || !(share > 0 && share <= 0.5)) {
    throw options.refuse('share', 'a number above 0, up to 0.5, such as 0.1 for a tenth of the limit', share);
  }
  const forMs = options.duration('for', { min: 1, max: 1_000 }, 100);
  options.done();
  return { share, forMs };
}

function limitsOf(
  limits: Limit | PlanLimits,
): Pick<Policy<never>, 'rule' | 'zoned' | 'plans' | 'limitOf' | 'changed'> {
  if ('rule' in limits) {
    return {
      rule: limits.rule,
      zoned: limits.zoned,
      plans: [],
      limitOf: () => limits,
      changed: (_, numbers) => limits.changed(numbers),
    };
  }
  const { byPlan } = limits;
  const fallback = byPlan.get(limits.defaultPlan) as Limit;
  const limitOf = (plan: string | undefined) => byPlan.get(plan ?? limits.defaultPlan) ?? fallback;
  return {
    rule: fallback.rule,
    zoned: [...byPlan.values()].some((limit) => limit !== 'unlimited' && limit.zoned),
    plans: [...byPlan.keys()],
    limitOf,
    changed: (plan, numbers) => {
      const limit = limitOf(plan);
      return (limit === 'unlimited' ? fallback : limit).changed(numbers);
    },
  };
}

/** The `cost` option of a policy or of a decorator. */
export function readCost<Context>(options: OptionReader, fallback: Cost<Context>): Cost<Context> {
  const cost = options.value('cost') ?? fallback;
  if (typeof cost === 'function') return cost as Cost<Context>;
  return options.integer('cost', { min: 0, max: Number.MAX_SAFE_INTEGER }, fallback as number);
}
