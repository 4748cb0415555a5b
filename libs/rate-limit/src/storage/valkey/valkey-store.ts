import { type Clock, systemClock } from '../../decision/clock.js';
import { RateLimitConfigError } from '../../decision/config-error.js';
import type { Answer, Attempt, Store } from '../store.js';
import { toVerdicts } from '../verdicts.js';
import { Batches } from './batches.js';
import { type Connection, problemOf } from './connection.js';
import { Reply } from './reply.js';
import { assembleScripts, MARKS } from './script.js';
import type { Scripts } from './scripts.js';

/** State in Valkey, decided there by one script in one round trip. */
export class ValkeyStore implements Store {
  readonly name = 'valkey';
  readonly #decide = assembleScripts();
  readonly #batches = new Batches<readonly Attempt[], Answer>((requests) => this.decide(requests));

  /** @param clock left out: the server's, which all instances share. Tests and the lab hand one in */
  constructor(
    private readonly connection: Connection,
    private readonly scripts: Scripts,
    private readonly clock?: Clock,
  ) {}

  get place(): string {
    return this.connection.place;
  }

  shardOf(key: string): string {
    return this.connection.shardOf?.(key) ?? '';
  }

  async open(): Promise<void> {
    try {
      await this.connection.open();
    } catch (error) {
      if (error instanceof RateLimitConfigError) throw error;
      throw this.scripts.unavailable('no connection', error as Error);
    }
  }

  consume(attempts: readonly Attempt[]): Promise<Answer> {
    return this.#batches.add(attempts);
  }

  async reset(key: string): Promise<void> {
    await this.scripts.delete([key, penaltyKey(key)]);
  }

  close(): void {
    this.connection.close();
  }

  /**
   * One call. What answers each request, or why it was not decided, in their order.
   *
   * @param requests of a Cluster: with keys of one slot
   * @param deadlineMs less than the deadline, where some of it has gone by
   * @throws {StoreUnavailableError} (rejects) when none was decided
   */
  async decide(
    requests: readonly (readonly Attempt[])[],
    deadlineMs?: number,
  ): Promise<readonly (Answer | Error)[]> {
    const reply = new Reply(await this.#run(requests, deadlineMs));
    return requests.map((attempts) => {
      const found = reply.read(attempts);
      if (!(found instanceof Error)) return { at: reply.at, verdicts: toVerdicts(attempts, found) };
      return this.scripts.unavailable(problemOf(found), found, attempts[0]!.key);
    });
  }

  #run(requests: readonly (readonly Attempt[])[], deadlineMs?: number): Promise<unknown> {
    const now = this.clock === undefined ? '' : String(this.clock());
    const [[attempt] = [], ...others] = requests;
    // A shadow has nothing to spare where it is alone.
    if (others.length === 0 && requests[0]!.length === 1 && attempt!.rule.penalty === undefined) {
      const args = [attempt!.key, now, ...this.#argumentsOf(attempt!)];
      return this.scripts.run(this.#decide.one.get(attempt!.rule.id)!, 1, args, deadlineMs);
    }
    const keys: string[] = [];
    const args: string[] = [now];
    for (const attempts of requests) {
      const [first, begin] = [keys.length, args.push('', '')];
      for (const each of attempts) {
        const { key, rule, shadow } = each;
        keys.push(key);
        if (shadow) args.push(MARKS.shadow);
        if (rule.penalty !== undefined) {
          keys.push(penaltyKey(key));
          args.push(MARKS.penalty, ...rule.penalty);
        }
        args.push(rule.id, ...this.#argumentsOf(each));
      }
      args[begin - 2] = String(keys.length - first);
      args[begin - 1] = String(args.length - begin);
    }
    return this.scripts.run(this.#decide.many, keys.length, [...keys, ...args], deadlineMs);
  }

  #argumentsOf(attempt: Attempt): string[] {
    const { rule, cost, at } = attempt;
    const args = rule.args(attempt, this.clock ?? systemClock);
    if (cost >= 0) return [String(cost), ...args];
    return [String(cost), at === undefined ? '' : String(at), ...args];
  }
}

/** Where the penalty of a key is kept: beside it, on the same shard. */
function penaltyKey(key: string): string {
  return `${key}:penalty`;
}
