import { type Clock, systemClock } from '../../decision/clock.js';
import { type Answer, type Attempt, type Store, StoreUnavailableError } from '../store.js';
import { RateLimitConfigError } from '../../decision/config-error.js';
import { type Connection, consequence } from './connection.js';
import { assembleScript } from './script.js';
import { toVerdicts } from '../verdicts.js';
import { parseReply } from './reply.js';

export interface ValkeyStoreOptions {
  /** The longest to wait for an answer, in milliseconds. */
  readonly deadlineMs: number;
  /** Left out: the server's clock, which all instances share. Tests and the lab hand one in. */
  readonly clock?: Clock;
}

/** State in Valkey, decided there by one script in one round trip. */
export class ValkeyStore implements Store {
  readonly name = 'valkey';
  readonly #script = assembleScript();

  constructor(
    private readonly connection: Connection,
    private readonly options: ValkeyStoreOptions,
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
      throw this.#unavailable('no connection', error as Error);
    }
  }

  /** @param deadlineMs less than the deadline, where some of it has gone by */
  async consume(attempts: readonly Attempt[], deadlineMs = this.options.deadlineMs): Promise<Answer> {
    const args = this.#arguments(attempts);
    const run = (expired: () => boolean) => this.#run(attempts.length, args, expired);
    const reply = await this.#within(deadlineMs, attempts[0]!.key, run);
    const { at, found } = parseReply(reply, attempts);
    return { at, verdicts: toVerdicts(attempts, found) };
  }

  async reset(key: string): Promise<void> {
    await this.#within(this.options.deadlineMs, key, () => this.connection.client.del(key));
  }

  close(): void {
    this.connection.close();
  }

  #arguments(attempts: readonly Attempt[]): string[] {
    const { clock } = this.options;
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

  /** EVALSHA, and EVAL where the server has lost the script: nothing has run then, so it may be sent again. */
  async #run(keys: number, args: string[], expired: () => boolean): Promise<unknown> {
    const { client } = this.connection;
    try {
      return await client.evalsha(this.#script.sha, keys, ...args);
    } catch (error) {
      if (!isNoScript(error) || expired()) throw error;
      return client.eval(this.#script.source, keys, ...args);
    }
  }

  async #within(
    deadlineMs: number,
    key: string,
    ask: (expired: () => boolean) => Promise<unknown>,
  ): Promise<unknown> {
    let expired = false;
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<never>((_, reject) => {
      const expire = () => {
        expired = true;
        reject(this.#unavailable(`no answer within ${this.options.deadlineMs} ms`, undefined, key));
      };
      // When this process was busy, the answer may be there and only not read yet: timers come before the socket, and
      // immediates after it.
      timer = setTimeout(() => setImmediate(expire), deadlineMs);
    });
    try {
      return await Promise.race([deadline, ask(() => expired)]);
    } catch (error) {
      throw error instanceof StoreUnavailableError
        ? error
        : this.#unavailable(consequence(error as Error) ?? (error as Error).message, error as Error, key);
    } finally {
      clearTimeout(timer);
    }
  }

  #unavailable(problem: string, cause?: Error, key?: string): StoreUnavailableError {
    const reason = this.connection.lastError() ?? cause;
    const tells =
      reason !== undefined && consequence(reason) === undefined && !problem.includes(reason.message);
    const because = tells ? ` (${reason.message})` : '';
    return new StoreUnavailableError(`${this.place}: ${problem}${because}`, {
      cause: cause ?? reason,
      answered: isReply(cause),
      ...(key !== undefined && { key }),
    });
  }
}

/** An error that the server sent, and not one of the connection. By name, as clients bring their own classes. */
function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
