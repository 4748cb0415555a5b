import { compileRule, type Rule } from '../algorithms/index.js';
import { isTimeZone } from '../algorithms/quota/calendar.js';
import { RateLimitConfigError, show } from '../decision/config-error.js';
import type { Duration } from '../decision/duration.js';
import { OptionReader } from '../decision/option-reader.js';
import { Estimator } from './adaptive/estimator.js';
import { isAdaptive, readBounds, watch } from './adaptive/options.js';

const MOST_ZONES = 1_000;

/** Other numbers for a policy. What is left out stays as the policy says. */
export interface LimitNumbers {
  readonly limit?: number;
  readonly window?: Duration;
  readonly burst?: number;
}

/** How a policy counts, with its numbers and with every change of them that was asked for so far. */
export interface Limit {
  readonly rule: Rule;
  /** The rule by which one of so many processes counts when each has only its own memory: with its share of the limit. */
  localRule(instances: number): Rule;
  /** @throws {RateLimitConfigError} for numbers that the algorithm refuses, or does not have */
  changed(numbers: LimitNumbers): Limit;
  /** Whether its periods are those of a calendar whose time zone is not named. */
  readonly zoned: boolean;
  /** The same by the calendar of a time zone, where it is zoned; by UTC's, where there is no such time zone. */
  inZone(timeZone: string): Limit;
  /** Of one that is found out: what finds it. Its rule is another one whenever the number has changed. */
  readonly estimator?: Estimator;
}

/** Makes a rule of the options that concern it. */
export type ToRule = (options: OptionReader) => Rule;

/**
 * @param options read as far as they say how to count; what else they say is for the caller to read or to refuse
 * @param written the algorithm and its options, and nothing else
 * @throws {RateLimitConfigError} for whatever is wrong
 */
export function compileLimit(options: OptionReader, written: object, toRule: ToRule = compileRule): Limit {
  return isAdaptive(written) ? adaptiveLimit(options, toRule) : fixedLimit(options, written, toRule);
}

function fixedLimit(options: OptionReader, written: object, toRule: ToRule): Limit {
  const { where } = options;
  const rule = toRule(options);
  const localRules = new Map([[1, rule]]);
  // By the object that the numbers came in, so that those of an override that is gone are let go of.
  const changes = new WeakMap<LimitNumbers, Limit>();
  const zones = new Map<string, Limit>();
  const zoned = rule.algorithm === 'quota' && !('timeZone' in written);
  const limit: Limit = {
    rule,
    zoned,
    inZone: (timeZone) => {
      const present = zoned ? zones.get(timeZone) : limit;
      if (present !== undefined) return present;
      if (!isTimeZone(timeZone)) return limit;
      const there = compileAlone(where, { ...written, timeZone }, toRule, fixedLimit);
      // A time zone may be written in many ways, and whoever chooses one must not fill the memory.
      if (zones.size >= MOST_ZONES) zones.clear();
      zones.set(timeZone, there);
      return there;
    },
    localRule: (instances) => {
      const present = localRules.get(instances);
      if (present !== undefined) return present;
      const shared = toRule(new OptionReader(where, shareOf(written, instances)));
      localRules.set(instances, shared);
      return shared;
    },
    changed: (numbers) => {
      const present = changes.get(numbers);
      if (present !== undefined) return present;
      const changed = compileAlone(where, { ...written, ...numbers }, toRule, fixedLimit);
      changes.set(numbers, changed);
      return changed;
    },
  };
  return limit;
}

/** A limit that is found out: compiled anew when its number changes. */
function adaptiveLimit(options: OptionReader, toRule: ToRule): Limit {
  const { where } = options;
  const estimator = new Estimator(readBounds(options));
  options.value('limit');
  const rest = { algorithm: options.value('algorithm'), lease: options.value('lease') };
  const compile = (amount: number): Limit => {
    const { rule, ...fixed } = compileAlone(where, { ...rest, limit: amount }, toRule, fixedLimit);
    return { ...fixed, rule: watch(rule, estimator) };
  };
  const first = compile(estimator.limit);
  let [number, compiled] = [estimator.limit, first];
  const current = () => {
    if (number !== estimator.limit) {
      number = estimator.limit;
      compiled = compile(number);
    }
    return compiled;
  };
  const limit: Limit = {
    estimator,
    get rule() {
      return current().rule;
    },
    localRule: (instances) => current().localRule(instances),
    // Whoever is given a number has that number.
    changed: (numbers) => first.changed(numbers),
    zoned: false,
    inZone: () => limit,
  };
  return limit;
}

function compileAlone(
  where: string,
  written: unknown,
  toRule: ToRule,
  compile: (options: OptionReader, written: object, toRule: ToRule) => Limit = compileLimit,
): Limit {
  const options = new OptionReader(where, written);
  const limit = compile(options, written as object, toRule);
  options.done();
  return limit;
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

/** What a plan allows: so much, or whatever is asked. */
export type PlanLimit = Limit | 'unlimited';

/** The limits of a policy, plan by plan. */
export interface PlanLimits {
  readonly byPlan: ReadonlyMap<string, PlanLimit>;
  /** Of those whose plan is not known. It has a limit. */
  readonly defaultPlan: string;
}

/**
 * @param plans what is written for each plan: an algorithm with its options, or `'unlimited'`
 * @throws {RateLimitConfigError} for plans that are not the same policy with other numbers
 */
export function compilePlans(
  where: string,
  plans: unknown,
  defaultPlan: unknown,
  toRule: ToRule = compileRule,
): PlanLimits {
  if (
    typeof plans !== 'object' ||
    plans === null ||
    Array.isArray(plans) ||
    Object.keys(plans).length === 0
  ) {
    throw new RateLimitConfigError(
      'INVALID_PLANS',
      where,
      "plans must be an object of limits by plan, as in byPlan({ free: { … }, staff: 'unlimited' }, { default: 'free' }).",
    );
  }
  const byPlan = new Map<string, PlanLimit>(
    Object.entries(plans).map(([plan, written]: [string, unknown]) => [
      plan,
      compilePlan(`${where} plan ${JSON.stringify(plan)}`, written, toRule),
    ]),
  );
  const fallback = byPlan.get(defaultPlan as string);
  if (typeof defaultPlan !== 'string' || fallback === undefined || fallback === 'unlimited') {
    const limited = [...byPlan].flatMap(([plan, limit]) => (limit === 'unlimited' ? [] : [`'${plan}'`]));
    throw new RateLimitConfigError(
      'INVALID_DEFAULT',
      where,
      `default must be a plan with a limit${limited.length === 0 ? ', and there is none' : `: ${limited.join(' or ')}`}. ` +
        'It is for whoever has no known plan.',
    );
  }
  requireOneAlgorithm(where, byPlan);
  return { byPlan, defaultPlan };
}

function compilePlan(where: string, written: unknown, toRule: ToRule): PlanLimit {
  if (written === 'unlimited') return written;
  if (typeof written === 'object' && written !== null && !Array.isArray(written)) {
    return compileAlone(where, written, toRule);
  }
  throw new RateLimitConfigError(
    'INVALID_PLAN',
    where,
    `it must be an algorithm with its options, or 'unlimited', not ${show(written)}.`,
  );
}

/** What one algorithm has counted, another cannot read: a change of plan would be a fresh start. */
function requireOneAlgorithm(where: string, byPlan: ReadonlyMap<string, PlanLimit>): void {
  const limited = [...byPlan.values()].filter((limit): limit is Limit => limit !== 'unlimited');
  const names = new Set(limited.map(({ rule }) => rule.algorithm));
  if (names.size === 1) return;
  throw new RateLimitConfigError(
    'MIXED_ALGORITHMS',
    where,
    `its plans count by ${[...names].join(' and ')}. A client that changes its plan keeps what it has used only under ` +
      'the same algorithm: give the plans one algorithm and other numbers.',
  );
}
