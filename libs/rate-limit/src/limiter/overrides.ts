import { RateLimitConfigError, show } from '../decision/config-error.js';
import { OptionReader } from '../decision/option-reader.js';
import { type Clock, systemClock } from '../decision/clock.js';
import type { OverrideTable } from '../storage/override-table.js';
import { checkedKey, unknownPolicy } from './checks.js';
import type { LimitNumbers } from './limit.js';
import type { Policy } from './policy.js';
import type { PolicyName } from './register.js';

/** Other numbers for one key of a policy. */
export interface Override extends LimitNumbers {
  /** When they end, in milliseconds since 1970 or as a Date. Left out: when they are deleted. */
  readonly until?: number | Date;
}

/** An override as it is kept. */
export interface KnownOverride extends LimitNumbers {
  readonly until?: number;
}

interface Known {
  readonly numbers: LimitNumbers;
  readonly until: number | undefined;
  /** Whether the policy can have the numbers; looked at when they are first wanted. */
  suits?: boolean;
}

/** How often an instance looks whether another one has changed something: seen by all within a second. */
const LOOK_EVERY_MS = 800;

/** As many overrides there are at the most, for all policies together. Every instance keeps all of them. */
const MOST_OVERRIDES = 10_000;

const LONGEST_KEY = 256;

/** What can be changed. The rest of a policy is the same for everybody. */
const NUMBERS = ['limit', 'window', 'burst'] as const;

/**
 * Limits that change while running: other numbers for one key of a policy, for all instances, kept where the limits are
 * counted. Inject it, or take `limiter.overrides`.
 *
 * Every instance keeps them all and looks for changes beside its requests, so that a decision costs one look-up in
 * memory. What was used so far stays used.
 *
 * @example
 * await overrides.set('api', 'tenant-7', { limit: 5_000, until: new Date('2027-01-01') });
 */
export class LimitOverrides {
  #known: ReadonlyMap<string, Known> = new Map();
  #version = '';
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(
    private readonly table: OverrideTable,
    private readonly policies: ReadonlyMap<string, Policy<never>>,
    private readonly clock: Clock = systemClock,
  ) {}

  /** Reads what there is, and begins to look for changes. A store that does not answer is asked again later. */
  async open(): Promise<void> {
    await this.#look();
    if (this.table.shared) this.#lookLater();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  /** The numbers of a key, if it has others now. */
  find(policy: string, subject: string | undefined): LimitNumbers | undefined {
    if (this.#known.size === 0 || subject === undefined) return undefined;
    const known = this.#known.get(fieldOf(policy, subject));
    if (known === undefined || this.#isOver(known)) return undefined;
    known.suits ??= this.#suits(policy, known.numbers);
    return known.suits ? known.numbers : undefined;
  }

  /** What a key has; `undefined` if it has the policy's own numbers. */
  get(policy: PolicyName, key: string): KnownOverride | undefined {
    const found = this.list(policy).find((known) => known.key === key);
    if (found === undefined) return undefined;
    const { key: _, ...override } = found;
    return override;
  }

  /** All that there are now, of one policy. */
  list(policy: PolicyName): readonly (KnownOverride & { readonly key: string })[] {
    this.#policy(policy);
    const begin = fieldOf(policy, '');
    return [...this.#known].flatMap(([field, known]) => {
      if (!field.startsWith(begin) || this.#isOver(known)) return [];
      const { numbers, until } = known;
      return [{ key: field.slice(begin.length), ...numbers, ...(until !== undefined && { until }) }];
    });
  }

  /**
   * Gives a key other numbers, here at once and everywhere within a second.
   *
   * @param key the text that the policy's key function gives
   * @throws {RateLimitConfigError} (rejects) for numbers that the policy cannot have, and when there are 10,000 already
   * @throws {StoreUnavailableError} (rejects) when Valkey did not answer
   */
  async set(policy: PolicyName, key: string, override: Override): Promise<void> {
    const checked = this.#checked(policy, override);
    const gone = [...this.#known].flatMap(([field, known]) => (this.#isOver(known) ? [field] : []));
    const field = fieldOf(policy, checkedOverrideKey(policy, key));
    if (!(await this.table.write(field, JSON.stringify(checked), gone, MOST_OVERRIDES))) {
      throw new RateLimitConfigError(
        'TOO_MANY_OVERRIDES',
        `policy "${policy}"`,
        `there are ${MOST_OVERRIDES} overrides already, and every instance keeps all of them. Make a plan of them.`,
      );
    }
    await this.#look();
  }

  /**
   * Gives a key the policy's own numbers back.
   *
   * @throws {StoreUnavailableError} (rejects) when Valkey did not answer
   */
  async delete(policy: PolicyName, key: string): Promise<void> {
    this.#policy(policy);
    await this.table.write(fieldOf(policy, checkedKey(policy, key)), undefined, [], MOST_OVERRIDES);
    await this.#look();
  }

  #isOver({ until }: Known): boolean {
    return until !== undefined && this.clock() >= until;
  }

  #checked(policy: string, override: Override): KnownOverride {
    const where = `override of policy "${policy}"`;
    const options = new OptionReader(where, override);
    const until = this.#until(options);
    const numbers = { ...override } as Record<string, unknown>;
    delete numbers['until'];
    for (const name of NUMBERS) options.value(name);
    options.done();
    if (Object.keys(numbers).length === 0) {
      throw new RateLimitConfigError(
        'NO_NUMBERS',
        where,
        `it changes nothing. Give it ${NUMBERS.join(' or ')}.`,
      );
    }
    const found = this.#policy(policy);
    for (const plan of [undefined, ...found.plans]) found.changed(plan, numbers);
    return { ...numbers, ...(until !== undefined && { until }) };
  }

  #until(options: OptionReader): number | undefined {
    const written = options.value('until');
    if (written === undefined) return undefined;
    const until = written instanceof Date ? written.getTime() : written;
    if (Number.isSafeInteger(until) && (until as number) > this.clock()) return until as number;
    throw options.refuse('until', 'a Date or milliseconds since 1970 that are still to come', written);
  }

  #policy(name: string): Policy<never> {
    const policy = this.policies.get(name);
    if (policy !== undefined) return policy;
    throw unknownPolicy('LimitOverrides', name, this.policies.keys());
  }

  #lookLater(): void {
    this.#timer = setTimeout(() => {
      void this.#look().then(() => this.#closed || this.#lookLater());
    }, LOOK_EVERY_MS);
    this.#timer.unref();
  }

  /** What is known stays known while the store does not answer: it is the same failure that decisions meet. */
  async #look(): Promise<void> {
    try {
      const found = await this.table.read(this.#version);
      if (found === undefined) return;
      this.#known = new Map([...found.fields].flatMap(readField));
      this.#version = found.version;
    } catch {
      // asked again later
    }
  }

  /** Another instance, perhaps of another release, wrote it: what does not suit the policy here has no effect here. */
  #suits(policy: string, numbers: LimitNumbers): boolean {
    const found = this.policies.get(policy);
    try {
      for (const plan of [undefined, ...found!.plans]) found!.changed(plan, numbers);
      return true;
    } catch {
      return false;
    }
  }
}

/** What cannot be read has no effect. */
function readField([field, text]: [string, string]): [string, Known][] {
  try {
    const { until, ...numbers } = JSON.parse(text) as KnownOverride;
    return [[field, { numbers, until }]];
  } catch {
    return [];
  }
}

/** Names of policies have no colon. */
function fieldOf(policy: string, key: string): string {
  return `${policy}:${key}`;
}

function checkedOverrideKey(policy: string, key: unknown): string {
  const checked = checkedKey(policy, key);
  if (checked.length <= LONGEST_KEY) return checked;
  throw new RateLimitConfigError(
    'INVALID_KEY',
    `override of policy "${policy}"`,
    `key must have ${LONGEST_KEY} characters at the most, not ${show(checked.length)}.`,
  );
}
