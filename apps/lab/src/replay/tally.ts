import type { Decision, PolicyName } from 'nestjs-valkey-rate-limit';
import { type Clients, Counts, percentile } from './clients.js';
import type { Closeness, PolicyOutcome } from './outcome.js';
import type { PolicyOption, Replayer } from './policy-option.js';
import { WorstMinute } from './timeline.js';

const MOST_SHOWN = 10;

/** Asks one policy, and keeps count of what it says. */
export class PolicyTally {
  #refused = 0;
  #first: number | undefined;
  #last: number | undefined;
  #longestWaitMs = 0;
  readonly #worstMinute = new WorstMinute();
  /** Of each client: how often it was refused, and the most of the limit that it had used. */
  readonly #refusals = new Counts();
  readonly #used = new Counts();

  constructor(
    private readonly option: PolicyOption,
    private readonly replayer: Replayer,
  ) {}

  /** Asks for one request, at the time of the clock. */
  ask(key: string): Promise<Decision> {
    return this.replayer.limiter.consume(this.option.name as PolicyName, { key });
  }

  /**
   * Counts what was decided. Apart from asking, because one promise for each request is what can be afforded.
   *
   * @param client its number, or -1 where it is not kept apart
   */
  count(decision: Decision, client: number, at: number): boolean {
    if (decision.outcome !== 'allowed' && decision.outcome !== 'denied') {
      throw new Error(`A decision that is ${decision.outcome} is no result.`);
    }
    const allowed = decision.outcome === 'allowed';
    if (allowed) this.#longestWaitMs = Math.max(this.#longestWaitMs, decision.delayMs);
    else this.#refuse(at);
    if (client === -1) return allowed;
    this.#used.raise(client, this.replayer.capacity - decision.remaining);
    if (!allowed) this.#refusals.add(client);
    return allowed;
  }

  #refuse(at: number): void {
    this.#refused += 1;
    this.#first ??= at;
    this.#last = at;
    this.#worstMinute.add(at);
  }

  close(): Promise<void> {
    return this.replayer.limiter.close();
  }

  outcome(clients: Clients, requests: number): PolicyOutcome {
    const { name, written, policy } = this.option;
    const refused = this.#refusedClients(clients);
    return {
      name,
      algorithm: (policy as { readonly algorithm: PolicyOutcome['algorithm'] }).algorithm,
      written,
      requestsRefused: this.#refused,
      requestsRefusedShare: this.#refused / Math.max(1, requests),
      clientsRefused: refused.length,
      clientsRefusedShare: refused.length / Math.max(1, clients.size),
      refusedMost: refused.slice(0, MOST_SHOWN).map((client) => ({
        client: clients.name(client),
        refused: this.#refusals.get(client),
        requests: clients.requests.get(client),
      })),
      firstRefusal: this.#first,
      lastRefusal: this.#last,
      worstMinute: this.#worstMinute.worst,
      longestWaitMs: this.#longestWaitMs,
      closeness: this.#closeness(clients.size),
    };
  }

  /** Most refused first; of equals, whoever came first. */
  #refusedClients({ size }: Clients): number[] {
    const refused: number[] = [];
    for (let client = 0; client < size; client += 1) {
      if (this.#refusals.get(client) > 0) refused.push(client);
    }
    return refused.toSorted((one, other) => this.#refusals.get(other) - this.#refusals.get(one));
  }

  #closeness(clients: number): Closeness {
    const { capacity } = this.replayer;
    // Of nothing, whoever comes has used all.
    const shares = Float64Array.from({ length: clients }, (_, client) =>
      capacity === 0 ? 1 : this.#used.get(client) / capacity,
    );
    shares.sort();
    return {
      p50: percentile(shares, 50),
      p95: percentile(shares, 95),
      p99: percentile(shares, 99),
      most: shares.at(-1) ?? 0,
    };
  }
}
