import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { AdapterName } from '../../support/adapters.js';
import { BURST, LIMIT } from './scenario.js';

/** What the child sends: where it listens, once, and then answers. */
type Message = { readonly listening: string } | { readonly id: number; readonly answer: unknown };

/** How a process ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly ms: number;
}

const PROGRAM = fileURLToPath(new URL('app.mjs', import.meta.url));
/** A machine can be very busy. */
const START_LIMIT_MS = 60_000;
const END_LIMIT_MS = 3_000;

/** A process that runs a whole application, with all that it says. */
export class Application {
  url = '';
  /** What the limiter logged, such as `warn: The store does not decide…`. */
  readonly lines: string[] = [];
  /** Whatever it printed beside its log: nothing, if all is well. */
  stderr = '';
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #answers = new Map<number, (answer: unknown) => void>();
  #asked = 0;

  /** @param options those of the module, as far as JSON can carry them, without policies */
  constructor(
    readonly adapter: AdapterName,
    options: object,
  ) {
    const args = [adapter, options, LIMIT, BURST.allowed].map((argument) => JSON.stringify(argument));
    this.#child = spawn(process.execPath, ['--expose-gc', PROGRAM, ...args], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child.on('error', () => undefined); // what cannot be said to a process that is gone
    this.#closed = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.stderr!.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    createInterface(this.#child.stdout!).on('line', (line) => this.#keep(line));
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Resolves when it listens. */
  async listening(): Promise<void> {
    const heard = new Promise<void>((resolve) => {
      this.#child.on('message', (message: Message) => {
        if ('answer' in message) {
          this.#answers.get(message.id)?.(message.answer);
          this.#answers.delete(message.id);
        } else {
          this.url = message.listening;
          resolve();
        }
      });
    });
    await Promise.race([heard, this.#closed, sleep(START_LIMIT_MS, undefined, { ref: false })]);
    if (this.url === '') throw new Error(`The ${this.adapter} application did not start:\n${this.stderr}`);
  }

  /** Bytes in use after everything that can go has gone. */
  heap(): Promise<number> {
    return this.#ask('heap') as Promise<number>;
  }

  /** Who decides now: `valkey` or `local`. */
  store(): Promise<string> {
    return this.#ask('store') as Promise<string>;
  }

  /** Many decisions of one key's limit, counted by what became of them, such as `allowed by valkey`. */
  burst(): Promise<Record<string, number>> {
    return this.#ask('burst', BURST.decisions) as Promise<Record<string, number>>;
  }

  /** Asks it to end, as an operator does, and waits until it has. */
  async end(): Promise<Ended> {
    const begin = performance.now();
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), END_LIMIT_MS);
    await this.#closed;
    clearTimeout(timer);
    return {
      code: this.#child.exitCode,
      signal: this.#child.signalCode,
      ms: performance.now() - begin,
    };
  }

  /** For one that is in the way. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#closed;
  }

  async #ask(question: string, argument?: unknown): Promise<unknown> {
    const id = (this.#asked += 1);
    const answered = new Promise<unknown>((resolve) => this.#answers.set(id, resolve));
    this.#child.send({ id, question, argument });
    const gone = this.#closed.then(() => {
      throw new Error(`The ${this.adapter} application ended by itself:\n${this.stderr}`);
    });
    return Promise.race([answered, gone]);
  }

  /** Keeps the limiter's lines, and what is no line of the log at all. */
  #keep(line: string): void {
    if (!line.startsWith('{')) {
      this.stderr += `${line}\n`;
      return;
    }
    const { level, context, message } = JSON.parse(line) as Record<string, string>;
    if (context === 'RateLimit') this.lines.push(`${level}: ${message}`);
  }
}
