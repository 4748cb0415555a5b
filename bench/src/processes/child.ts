import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { COMPILED } from './compile.js';

/** What a process can be asked: by name, with one argument or none. */
export type Answers = Record<string, (argument: never) => unknown>;

type Message =
  { readonly id: number; readonly value: unknown } | { readonly id: number; readonly failed: string };

/** Why a contestant could not be started: in the table instead of its figures. */
export class ChildFailed extends Error {
  override name = 'ChildFailed';
}

/** A process of its own, so that heaps, compilers and event loops do not disturb one another. */
export class Child<Asked extends Answers> {
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #lastId = 0;

  private constructor(private readonly process: ChildProcess) {
    process.on('message', (message: Message) => {
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if ('failed' in message) waiting?.reject(new ChildFailed(message.failed));
      else waiting?.resolve(message.value);
    });
    process.on('exit', (code, signal) => {
      for (const { reject } of this.#waiting.values()) reject(new ChildFailed(`ended (${signal ?? code})`));
    });
  }

  /** @throws {ChildFailed} (rejects) with what it said, when it could not start */
  static async start<Asked extends Answers>(
    script: string,
    args: readonly string[] = [],
    nodeOptions: readonly string[] = [],
  ): Promise<Child<Asked>> {
    const forked = fork(join(COMPILED, script), args, {
      execArgv: [...nodeOptions], // not those of this process
      env: { ...process.env, NODE_ENV: 'production' },
      serialization: 'advanced',
    });
    const child = new Child<Asked>(forked);
    // Its first answer, to a question of nobody, says that it is ready.
    try {
      await new Promise((resolve, reject) => child.#waiting.set(0, { resolve, reject }));
      return child;
    } catch (error) {
      await child.stop();
      throw error;
    }
  }

  ask<Name extends keyof Asked & string>(
    name: Name,
    ...argument: Parameters<Asked[Name]>
  ): Promise<Awaited<ReturnType<Asked[Name]>>> {
    const id = (this.#lastId += 1);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.process.send({ id, name, argument: argument[0] });
    });
  }

  async stop(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const gone = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await gone;
  }
}
