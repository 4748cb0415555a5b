import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { afterEach } from '@jest/globals';

/** A process that listens. */
export interface Listening {
  readonly child: ChildProcess;
  readonly url: string;
  /** What it has said until it listened, line by line. */
  readonly lines: readonly string[];
  /** What it has said so far. */
  output(): string;
}

const children: ChildProcess[] = [];

// Also after a test that failed half-way, so that no process outlives it.
afterEach(() => Promise.all(children.splice(0).map(end)));

/**
 * Starts a program and waits until it says where it listens. It is ended after the test.
 *
 * @param env what is other than here; `undefined` takes something away
 */
export async function startProcess(
  program: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<Listening> {
  if (!existsSync(program)) throw new Error(`${program} is missing: run "npm run build" first.`);
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, NO_COLOR: '1', PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString();
      const listening = /Listening on (\S+)\n/.exec(output);
      if (listening !== null) resolve(listening[1]!);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('exit', (code) => reject(new Error(`It ended with ${code} before it listened:\n${output}`)));
  });
  return { child, url, lines: output.trim().split('\n'), output: () => output };
}

/** Kills a process, if it is not gone, and waits until it is. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
