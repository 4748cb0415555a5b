import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Outcome } from './main.js';
import type { Scenario } from './scenario.js';

const PROGRAM = fileURLToPath(new URL('main.ts', import.meta.url));

/** Runs a scenario in a process of its own. Rejects with what that printed if it ends without an outcome. */
export async function runApart({ name }: Scenario): Promise<Outcome> {
  const child = fork(PROGRAM, [name], { execArgv: ['--import', 'tsx'], silent: true });
  let printed = '';
  child.stderr!.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  let outcome: Outcome | undefined;
  child.once('message', (message: Outcome) => (outcome = message));
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (outcome === undefined) throw new Error(`"${name}" ended with ${code}:\n${printed}`);
  return outcome;
}
