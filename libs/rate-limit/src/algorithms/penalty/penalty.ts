import { RateLimitConfigError } from '../../decision/config-error.js';
import type { AllowedVerdict, DeniedVerdict } from '../../decision/decision.js';
import type { Duration } from '../../decision/duration.js';
import { OptionReader } from '../../decision/option-reader.js';
import type { Ask, Step } from '../algorithm.js';
import type { Rule } from '../index.js';
import { MAX_WINDOW_MS } from '../limits.js';

/**
 * Blocks whoever goes on asking although it is refused.
 *
 * `after` refusals in a row earn a block, in which everything is refused and nothing is counted. The next block is
 * `growth` times as long, up to `max`. It decays: whoever stays out of another one for as long as the last one was is
 * treated as if that had not been. What is allowed ends the row, and so does a time as long as `block` without a refusal.
 *
 * @example
 * { after: 3, block: '15m', growth: 2, max: '24h' }
 */
export interface PenaltyOptions {
  /** How many refusals in a row: 1 to 1,000,000. */
  after: number;
  /** How long the first block is: 1 ms to 3,650 days. */
  block: Duration;
  /** How many times as long the next one is: a whole number from 1 to 100. Left out: 2. */
  growth?: number;
  /** The longest block: `block` to 3,650 days. Left out: one day, or `block` where that is longer. */
  max?: Duration;
}

interface Penalty {
  readonly after: number;
  readonly block: number;
  readonly growth: number;
  readonly max: number;
}

/** How long the last block was, as a level from 1; when it ends; how many refusals came in a row; when the last did. */
type Standing = readonly [level: number, end: number, strikes: number, struckAt: number];

/** What is kept of a key, the standing where there is one; in Valkey, in two keys of one slot. */
type Kept = readonly [standing: Standing | undefined, state: unknown];

const ONE_DAY_MS = 86_400_000;

/**
 * A rule with a penalty, of one without. `penalty.lua` is the twin of its step.
 *
 * @throws {RateLimitConfigError} for options that cannot work
 */
export function penalize(rule: Rule, where: string, written: unknown): Rule {
  const penalty = compilePenalty(where, written);
  if (rule.quota.unit === 'concurrent-requests') {
    throw new RateLimitConfigError(
      'NO_PENALTY',
      where,
      `${rule.algorithm} has no penalty: its places come free at any moment, and to try again is right. Leave penalty out.`,
    );
  }
  const { after, block, growth, max } = penalty;
  return {
    ...rule,
    penalty: [after, block, growth, max].map(String),
    settling: {
      ...rule,
      step: (kept, now, ask) => settle(kept as Kept | undefined, now, ask, rule, penalty),
    },
    readings: rule.readings + 2,
    step: (kept, now, ask) => step(kept as Kept | undefined, now, ask, rule, penalty),
    allowed: (reading, taken) => blocked(rule.allowed(reading, taken), blockIn(reading).leftMs),
    denied: (reading, cost) => denied(reading, cost, rule),
  };
}

function compilePenalty(where: string, written: unknown): Penalty {
  const options = new OptionReader(`${where} penalty`, written);
  const after = options.integer('after', { min: 1, max: 1_000_000 });
  const block = options.duration('block', { min: 1, max: MAX_WINDOW_MS });
  const growth = options.integer('growth', { min: 1, max: 100 }, 2);
  const max = options.duration('max', { min: block, max: MAX_WINDOW_MS }, Math.max(block, ONE_DAY_MS));
  options.done();
  return { after, block, growth, max: growth === 1 ? block : max };
}

function step(found: Kept | undefined, now: number, ask: Ask, rule: Rule, penalty: Penalty): Step<unknown> {
  const [before, state] = found ?? [undefined, undefined];
  const counted = rule.step(state, now, ask);
  const { leftMs, after } = judge(before, now, ask.cost > 0 ? counted.allowed : undefined, penalty);
  const allowed = counted.allowed && (leftMs === 0 || ask.cost <= 0);
  // Nothing is taken from a key that is blocked.
  const changes = counted.state !== undefined && allowed === counted.allowed;
  const counts = counted.ttlMs > 0 ? counted.state : undefined;
  const standing = after ?? before;
  const standsMs = standing === undefined ? 0 : mattersFor(standing, now, penalty);
  const kept = [standsMs > 0 ? standing : undefined, changes ? counts : state];
  // What makes no difference any more goes as soon as something is asked for.
  const isStale = standing !== undefined && standsMs === 0 && ask.cost !== 0;
  return {
    allowed,
    reading: [...counted.reading, leftMs, counted.allowed ? 1 : 0],
    state: after !== undefined || changes || isStale ? kept : undefined,
    // What has run out is for the store to sweep, as it is where there is no penalty.
    ttlMs: Math.max(counted.ttlMs, standsMs, kept[1] === undefined ? 0 : 1),
  };
}

/** Counts, whether it is blocked or not, and leaves the standing as it is. */
function settle(found: Kept | undefined, now: number, ask: Ask, rule: Rule, penalty: Penalty): Step<unknown> {
  const [standing, state] = found ?? [undefined, undefined];
  const counted = rule.step(state, now, ask);
  const standsMs = standing === undefined ? 0 : mattersFor(standing, now, penalty);
  const counts = counted.ttlMs > 0 ? counted.state : undefined;
  return {
    ...counted,
    state: counted.state === undefined ? undefined : [standing, counts],
    ttlMs: Math.max(counted.ttlMs, standsMs),
  };
}

/** How a key stands. */
interface Judged {
  /** How long it is blocked from now on. */
  readonly leftMs: number;
  /** What to keep, if it is to change. */
  readonly after: Standing | undefined;
}

/** @param allowed whether the limit allows what is asked; `undefined` where nothing is asked for */
function judge(
  standing: Standing | undefined,
  now: number,
  allowed: boolean | undefined,
  penalty: Penalty,
): Judged {
  const [level, end, strikes, struckAt] = standing ?? [0, 0, 0, 0];
  if (end > now) {
    // A clock that stepped back makes no block longer.
    const leftMs = Math.min(end - now, blockOf(level, penalty));
    const mends = allowed !== undefined && now + leftMs !== end;
    return { leftMs, after: mends ? [level, now + leftMs, 0, 0] : undefined };
  }
  const row = Math.abs(now - struckAt) < penalty.block ? strikes : 0;
  if (allowed === undefined || (allowed && row === 0)) return { leftMs: 0, after: undefined };
  if (allowed) return { leftMs: 0, after: [level, end, 0, 0] };
  if (row + 1 < penalty.after) return { leftMs: 0, after: [level, end, row + 1, now] };
  const last = decayed(level, now - end, penalty);
  const next = last > 0 && blockOf(last, penalty) === penalty.max ? last : last + 1;
  const leftMs = blockOf(next, penalty);
  return { leftMs, after: [next, now + leftMs, 0, 0] };
}

function blockOf(level: number, { block, growth, max }: Penalty): number {
  let length = block;
  for (let count = 1; count < level; count += 1) length = Math.min(length * growth, max);
  return length;
}

/** The level that is left of one, so long after its block has ended. */
function decayed(level: number, since: number, penalty: Penalty): number {
  let [left, rest] = [level, since];
  while (left > 0 && rest >= blockOf(left, penalty)) {
    rest -= blockOf(left, penalty);
    left -= 1;
  }
  return left;
}

/** For how long from now on a standing can make a difference. */
function mattersFor([level, end, strikes, struckAt]: Standing, now: number, penalty: Penalty): number {
  let until = strikes > 0 ? struckAt + penalty.block : 0;
  if (level > 0) {
    let clean = end;
    for (let count = 1; count <= level; count += 1) clean += blockOf(count, penalty);
    until = Math.max(until, clean);
  }
  return Math.max(0, until - now);
}

/** What a step with a penalty reads beside what the limit has read. */
function blockIn(reading: readonly number[]): { leftMs: number; isAllowed: boolean } {
  return { leftMs: reading.at(-2)!, isAllowed: reading.at(-1) === 1 };
}

function denied(reading: readonly number[], cost: number, rule: Rule): DeniedVerdict {
  const { leftMs, isAllowed } = blockIn(reading);
  if (!isAllowed) {
    const verdict = rule.denied(reading, cost);
    if (leftMs === 0) return verdict;
    const { retryAfterMs } = verdict;
    const wait = retryAfterMs === undefined ? undefined : Math.max(retryAfterMs, leftMs);
    return { ...blocked(verdict, leftMs), retryAfterMs: wait, penaltyMs: leftMs };
  }
  const { remaining, nextMs, resetMs } = blocked(rule.allowed(reading, 0), leftMs);
  return { outcome: 'denied', remaining, nextMs, resetMs, retryAfterMs: leftMs, penaltyMs: leftMs };
}

/** The same while nothing may be taken. A limit of which nothing ever comes back says the same as ever. */
function blocked<Told extends AllowedVerdict | DeniedVerdict>(verdict: Told, leftMs: number): Told {
  const { remaining, nextMs, resetMs } = verdict;
  if (leftMs === 0 || (remaining === 0 && nextMs === 0)) return verdict;
  return {
    ...verdict,
    remaining: 0,
    nextMs: remaining > 0 ? leftMs : Math.max(nextMs, leftMs),
    resetMs: Math.max(resetMs, leftMs),
  };
}
