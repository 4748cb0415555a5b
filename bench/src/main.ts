/**
 * Measures the limiter beside others and prints tables. Arguments: names of groups, or none for all; `--long` for
 * longer rounds where few seconds show little.
 */
import { ask } from '../../tools/ask-valkey.js';
import { startValkey } from '../../tools/local-valkey.js';
import type { Bench } from './groups/group.js';
import { GROUPS } from './groups/index.js';
import { Child } from './processes/child.js';
import { compileProcesses } from './processes/compile.js';
import type { LoadAnswers } from './processes/load.js';
import { environment } from './report/environment.js';
import { resultTables } from './report/markdown.js';
import { saveGroups } from './report/result-file.js';
import type { GroupResult } from './report/result.js';

const words = process.argv.slice(2);
const options = new Set(words.filter((word) => word.startsWith('--')));
const names = words.filter((word) => !word.startsWith('--'));
const unknown = [
  ...names.filter((name) => !GROUPS[name]),
  ...[...options].filter((word) => word !== '--long'),
];
if (unknown.length > 0) {
  console.error(
    `Not known: ${unknown.join(', ')}. Groups: ${Object.keys(GROUPS).join(', ')}. Option: --long`,
  );
  process.exit(2);
}

await compileProcesses();
const valkey = await startValkey();
const load = await Child.start<LoadAnswers>('load.js');
const measured: Record<string, GroupResult> = {};
try {
  const bench: Bench = { valkey, load, long: options.has('--long') };
  for (const name of names.length > 0 ? names : Object.keys(GROUPS)) {
    try {
      measured[name] = await measure(name, bench);
      await saveGroups({ [name]: measured[name] });
    } catch (error) {
      // The others are worth having nevertheless.
      process.stderr.write(`\n${name} was not measured: ${(error as Error).message}\n`);
      process.exitCode = 1;
    }
  }
} finally {
  await load.stop();
  await valkey.stop();
}
console.log(resultTables({ shape: 1, groups: measured }));

async function measure(name: string, bench: Bench): Promise<GroupResult> {
  const group = GROUPS[name]!;
  process.stderr.write(`${name} `);
  const began = Date.now();
  await ask(bench.valkey, 'FLUSHALL', 'ASYNC');
  const { tables, targets } = await group.run(bench);
  process.stderr.write(`${name}: ${((Date.now() - began) / 1_000).toFixed(0)} s\n`);
  return {
    title: group.title,
    measured: new Date(began).toISOString(),
    seconds: (Date.now() - began) / 1_000,
    environment: await environment(bench.valkey),
    how: group.how,
    tables,
    targets,
  };
}
