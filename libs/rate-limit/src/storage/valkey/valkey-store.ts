import type { Clock } from '../../decision/clock.js';
import type { Verdict } from '../../decision/decision.js';
import { type Attempt, type Store, StoreUnavailableError } from '../store.js';
import type { Connection } from './connect.js';
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
    return `Valkey at ${this.connection.address}`;
  }

  async open(): Promise<void> {
    try {
      await this.connection.open();
    } catch (error) {
      throw this.#unavailable('no connection', error as Error);
    }
  }

  async consume(attempts: readonly Attempt[]): Promise<readonly Verdict[]> {
    const reply = await this.#withinDeadline((expired) =>
      this.#run(attempts.length, this.#arguments(attempts), expired),
    );
    return toVerdicts(attempts, parseReply(reply, attempts));
  }

  async reset(key: string): Promise<void> {
    await this.#withinDeadline(() => this.connection.client.del(key));
  }

  close(): void {
    this.connection.close();
  }

  #arguments(attempts: readonly Attempt[]): string[] {
    const args: string[] = [];
    for (const { key } of attempts) args.push(key);
    args.push(this.options.clock === undefined ? '' : String(this.options.clock()));
    for (const { rule, cost } of attempts) {
      args.push(rule.number, String(cost));
      for (const arg of rule.args) args.push(arg);
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

  async #withinDeadline(ask: (expired: () => boolean) => Promise<unknown>): Promise<unknown> {
    let expired = false;
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        expired = true;
        reject(this.#unavailable(`no answer within ${this.options.deadlineMs} ms`));
      }, this.options.deadlineMs);
    });
    try {
      return await Promise.race([deadline, ask(() => expired)]);
    } catch (error) {
      throw error instanceof StoreUnavailableError
        ? error
        : this.#unavailable((error as Error).message, error as Error);
    } finally {
      clearTimeout(timer);
    }
  }

  #unavailable(problem: string, cause?: Error): StoreUnavailableError {
    const reason = this.connection.lastError();
    const because = reason === undefined || reason === cause ? '' : ` (${reason.message})`;
    return new StoreUnavailableError(`${this.place}: ${problem}${because}`, {
      cause: cause ?? reason,
    });
  }
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
