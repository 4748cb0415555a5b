import { type Decision, rejects } from '../decision/decision.js';
import type { PolicyAttempt } from '../limiter/attempt.js';
import { shortSubject } from '../limiter/store-key.js';
import { HeavyHitters, merge } from '../limiter/top/sketch.js';

/** What became of requests under one policy since the log was told last. */
interface Refused {
  readonly outcomes: Map<Decision['outcome'], number>;
  readonly keys: HeavyHitters | undefined;
}

export interface RefusalsOptions {
  readonly everyMs: number;
  readonly exposesKeys: boolean;
  readonly log: (line: string) => void;
}

/** As many keys are counted. Only the first of them are told. */
const KEYS = 100;
const TOLD = 3;

const number = new Intl.NumberFormat('en');

/**
 * Sums up refusals, a line for each policy that has refused somebody: an attack must not fill the log. A timer runs only
 * while there is something to tell.
 *
 * @example
 * "login" refused 1,204 in 60 s: 1,200 denied, 4 unavailable. Most often: 203.0.113.7 (900), 198.51.100.2 (40).
 */
export class Refusals {
  readonly #policies = new Map<string, Refused>();
  #timer: NodeJS.Timeout | undefined;
  #since = 0;

  constructor(private readonly options: RefusalsOptions) {}

  /**
   * One request that is refused.
   *
   * @param attempts what was asked for, in any order
   */
  add(decisions: readonly Decision[], attempts: readonly PolicyAttempt[]): void {
    for (const decision of decisions) {
      if (!rejects(decision)) continue;
      const { outcomes, keys } = this.#of(decision.policy);
      outcomes.set(decision.outcome, (outcomes.get(decision.outcome) ?? 0) + 1);
      const subject = keys && attempts.find(({ policy }) => policy.name === decision.policy)?.subject;
      if (subject !== undefined)
        keys!.add(shortSubject(subject), 1, { limit: 0, remaining: 0, denied: true });
    }
  }

  /** Tells what is left to tell. */
  close(): void {
    this.#tell();
  }

  #of(policy: string): Refused {
    let refused = this.#policies.get(policy);
    if (refused === undefined) {
      refused = { outcomes: new Map(), keys: this.options.exposesKeys ? new HeavyHitters(KEYS) : undefined };
      this.#policies.set(policy, refused);
    }
    if (this.#timer === undefined) {
      this.#since = performance.now();
      this.#timer = setTimeout(() => this.#tell(), this.options.everyMs).unref();
    }
    return refused;
  }

  #tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const seconds = Math.max(1, Math.round((performance.now() - this.#since) / 1_000));
    for (const [policy, refused] of this.#policies) this.options.log(lineOf(policy, refused, seconds));
    this.#policies.clear();
  }
}

function lineOf(policy: string, { outcomes, keys }: Refused, seconds: number): string {
  const all = [...outcomes.values()].reduce((sum, count) => sum + count, 0);
  const each = [...outcomes].map(([outcome, count]) => `${number.format(count)} ${outcome}`).join(', ');
  const line = `"${policy}" refused ${number.format(all)} in ${number.format(seconds)} s: ${each}.`;
  if (keys === undefined || keys.held === 0) return line;
  const most = merge([keys.export()], KEYS).entries.slice(0, TOLD);
  const told = most.map(({ key, asked }) => `${quote(key)} (${number.format(asked)})`);
  return `${line} Most often: ${told.join(', ')}.`;
}

/** A client may choose its key: what would begin a line of its own, turn it round or command a terminal is in figures. */
function quote(key: string): string {
  return JSON.stringify(key).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    return `\\u{${character.codePointAt(0)!.toString(16)}}`;
  });
}
