import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const COMPILED = join(import.meta.dirname, '../../dist/processes');

/**
 * Makes JavaScript of what runs in processes of its own. A loader that does it on the fly makes each of them start ten
 * times slower, and gives CommonJS peers a Nest of their own.
 */
export async function compileProcesses(): Promise<void> {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const project = join(import.meta.dirname, '../../tsconfig.processes.json');
  await promisify(execFile)(process.execPath, [tsc, '-p', project]);
}
