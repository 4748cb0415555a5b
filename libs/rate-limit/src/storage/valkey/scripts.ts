import { createHash } from 'node:crypto';
import { StoreUnavailableError } from '../store.js';
import { type Connection, consequence, problemOf } from './connection.js';

/** A script and the name under which Valkey keeps it. */
export interface Script {
  readonly source: string;
  readonly sha: string;
}

export function toScript(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

/** Runs scripts in Valkey, each within a deadline. */
export class Scripts {
  constructor(
    private readonly connection: Connection,
    private readonly deadlineMs: number,
  ) {}

  /**
   * @param args the keys and then the arguments
   * @param deadlineMs less than the deadline, where some of it has gone by
   * @throws {StoreUnavailableError} (rejects)
   */
  run(script: Script, keys: number, args: readonly string[], deadlineMs = this.deadlineMs): Promise<unknown> {
    return this.#within(deadlineMs, args[0]!, (expired) => this.#evaluate(script, keys, args, expired));
  }

  /** @param keys of one slot */
  delete(keys: readonly [string, ...string[]]): Promise<unknown> {
    return this.#within(this.deadlineMs, keys[0], () => this.connection.client.del(...keys));
  }

  /** EVALSHA, and EVAL where the server has lost the script: nothing has run then, so it may be sent again. */
  async #evaluate(
    script: Script,
    keys: number,
    args: readonly string[],
    expired: () => boolean,
  ): Promise<unknown> {
    const { client } = this.connection;
    try {
      return await client.evalsha(script.sha, keys, ...args);
    } catch (error) {
      if (!isNoScript(error) || expired()) throw error;
      return client.eval(script.source, keys, ...args);
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
        reject(this.unavailable(`no answer within ${deadlineMs} ms`, undefined, key));
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
        : this.unavailable(problemOf(error as Error), error as Error, key);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Why the store did not do it, in one line. */
  unavailable(problem: string, cause?: Error, key?: string): StoreUnavailableError {
    const reason = this.connection.lastError() ?? cause;
    const tells =
      reason !== undefined && consequence(reason) === undefined && !problem.includes(problemOf(reason));
    const because = tells ? ` (${reason.message})` : '';
    return new StoreUnavailableError(`${this.connection.place}: ${problem}${because}`, {
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
