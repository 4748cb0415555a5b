import { randomBytes } from 'node:crypto';
import type { SketchTable } from '../../storage/sketch-table.js';
import type { DecisionBatch } from '../decision-event.js';
import { shortSubject } from '../store-key.js';
import { mergeLately, RecentHeavyHitters } from './recent.js';

/** One of the keys that asked for most of their limit lately. */
export interface TopKey {
  /** As the policy's key function gave it; longer than 64 characters, as it stands in Valkey: `#` and a hash. */
  readonly key: string;
  /**
   * How many times its limit it asked for lately, in `spanMs`: 3.5 for 350 requests where 100 are allowed a window. A
   * request counts as one limit at the most, whatever it costs. It may be `error` more.
   */
  readonly asked: number;
  /** How many decisions about it were denied since it is known, or would have been, of a policy in shadow. */
  readonly denied: number;
  /** By the last decision that is known. */
  readonly limit: number;
  readonly remaining: number;
}

/** Who is closest to a limit, or over it. */
export interface TopKeys {
  /** Who asked for most of their limit comes first. */
  readonly keys: readonly TopKey[];
  /** What was looked at: the last minute or two, in milliseconds. */
  readonly spanMs: number;
  /** How much any `asked` is too low at the most. A key that asked for less may be missing. */
  readonly error: number;
}

export interface TopOptions {
  /** How many keys of a policy are kept count of in each process. */
  readonly size: number;
  /** Left out: nobody else is to be asked. */
  readonly table: SketchTable | undefined;
}

/** "Lately" is one to two of these. */
const WINDOW_MS = 60_000;

/** How often others are told, and for how long they remember it when nothing more comes. */
const TELL_MS = 5_000;
const TOLD_MS = WINDOW_MS;

/** Keeps count of who asks for most, and shares it with the other processes. */
export class Top {
  readonly #policies = new Map<string, RecentHeavyHitters>();
  /** Those that others have not been told of. */
  readonly #untold = new Set<string>();
  /** This process, for the others. */
  readonly #self = randomBytes(9).toString('base64url');
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: TopOptions) {}

  add({ decisions, attempts }: DecisionBatch): void {
    for (let index = 0; index < attempts.length; index += 1) {
      const { subject, cost, policy } = attempts[index]!;
      const decision = decisions[index];
      // One bucket for all unknown is nobody, and places of a fleet are no limit of anybody.
      if (policy.sheds) continue;
      if (subject === undefined || (decision?.outcome !== 'allowed' && decision?.outcome !== 'denied'))
        continue;
      const { limit, remaining, outcome } = decision;
      // Where clients choose the cost, one request is not to outweigh all others.
      const asked = Math.min(1, cost / Math.max(1, limit));
      const denied = outcome === 'denied' || (outcome === 'allowed' && decision.shadow?.outcome === 'denied');
      const seen = { limit, remaining, denied };
      this.#of(policy.name).add(shortSubject(subject), asked, seen);
    }
  }

  /** @throws {StoreUnavailableError} (rejects) when the store did not answer */
  async top(policy: string, count: number): Promise<TopKeys> {
    const { size, table } = this.options;
    const others = new Map(await table?.read(policy));
    // Of itself it knows better.
    others.delete(this.#self);
    const own = this.#policies.get(policy)?.export();
    const { entries, error, spanMs } = mergeLately([...others.values()].map(parse).concat(own), size);
    return { keys: entries.slice(0, count), spanMs, error };
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #of(policy: string): RecentHeavyHitters {
    let recent = this.#policies.get(policy);
    if (recent === undefined) {
      recent = new RecentHeavyHitters(this.options.size, WINDOW_MS);
      this.#policies.set(policy, recent);
    }
    this.#untold.add(policy);
    if (this.options.table !== undefined) {
      this.#timer ??= setTimeout(() => void this.#tell(this.options.table!), TELL_MS).unref();
    }
    return recent;
  }

  async #tell(table: SketchTable): Promise<void> {
    const untold = [...this.#untold];
    this.#untold.clear();
    this.#timer = undefined;
    // One after the other, as requests are to be answered meanwhile.
    for (const policy of untold) {
      const text = JSON.stringify(this.#policies.get(policy)!.export());
      // Others hear of it the next time.
      await table.write(policy, this.#self, text, TOLD_MS).catch(() => undefined);
    }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
