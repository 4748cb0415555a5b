import { type Clock, systemClock } from '../../decision/clock.js';
import { RateLimitConfigError } from '../../decision/config-error.js';
import type { Answer, Attempt, Store } from '../store.js';
import { toVerdicts } from '../verdicts.js';
import type { Connection } from './connection.js';
import { assembleScript } from './script.js';
import { parseReply } from './reply.js';
import type { Scripts } from './scripts.js';

/** State in Valkey, decided there by one script in one round trip. */
export class ValkeyStore implements Store {
  readonly name = 'valkey';
  readonly #script = assembleScript();

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

  /** @param deadlineMs less than the deadline, where some of it has gone by */
  async consume(attempts: readonly Attempt[], deadlineMs?: number): Promise<Answer> {
    const args = this.#arguments(attempts);
    const reply = await this.scripts.run(this.#script, attempts.length, args, deadlineMs);
    const { at, found } = parseReply(reply, attempts);
    return { at, verdicts: toVerdicts(attempts, found) };
  }

  async reset(key: string): Promise<void> {
    await this.scripts.delete(key);
  }

  close(): void {
    this.connection.close();
  }

  #arguments(attempts: readonly Attempt[]): string[] {
    const { clock } = this;
    const args: string[] = [];
    for (const { key } of attempts) args.push(key);
    args.push(clock === undefined ? '' : String(clock()));
    for (const attempt of attempts) {
      const { rule, cost, at } = attempt;
      args.push(rule.id, String(cost));
      if (cost < 0) args.push(at === undefined ? '' : String(at));
      args.push(...rule.args(attempt, clock ?? systemClock));
    }
    return args;
  }
}
