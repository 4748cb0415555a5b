/**
 * Turns every `.lua` file of the library into a TypeScript module beside it, so that no file is read at run time and
 * bundlers see the scripts. `--check` writes nothing and fails when a module is not what its source would give.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { glob } from './glob.js';

const check = process.argv.includes('--check');
const stale: string[] = [];

for (const source of await glob('libs', '.lua')) {
  const target = `${source}.ts`;
  const wanted = moduleOf(await readFile(source, 'utf8'));
  const present = await readFile(target, 'utf8').catch(() => undefined);
  if (present === wanted) continue;
  if (check) stale.push(target);
  else await writeFile(target, wanted);
}

if (stale.length > 0) {
  console.error(`Not current: ${stale.join(', ')}. Run "npm run lua" and commit the result.`);
  process.exitCode = 1;
}

function moduleOf(lua: string): string {
  const escaped = lua.replace(/[\\`]|\$\{/g, '\\$&');
  return `// Generated from the .lua file beside it by "npm run lua".\nexport default \`${escaped}\`;\n`;
}
