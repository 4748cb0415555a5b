import { readFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import ts from 'typescript';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFile(new URL(path, root), 'utf8');

test('the example in the README is the one that is run here', async () => {
  expect(await read('README.md')).toContain(`\`\`\`ts\n${await read('test/readme/example.ts')}\`\`\``);
});

test('the example limits as it says, whether Valkey is there or not', async () => {
  const source = (await read('test/readme/example.ts')).replace(
    'app.listen(3000)',
    "app.listen(0, '127.0.0.1')",
  );
  const { outputText } = ts.transpileModule(`${source}\nconsole.log('at', await app.getUrl());`, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      experimentalDecorators: true,
    },
  });
  const child = spawn('node', ['--input-type=module', '--eval', outputText], { cwd: root, stdio: 'pipe' });
  try {
    const url = await listening(child.stdout);
    const statuses = [];
    for (let call = 0; call < 7; call += 1) statuses.push((await fetch(`${url}/quotes`)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
  } finally {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
});

async function listening(output: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  output.on('data', (chunk) => (text += String(chunk)));
  for (let waited = 0; waited < 10_000; waited += 20) {
    const url = /^at (\S+)$/m.exec(text);
    if (url !== null) return url[1]!;
    await sleep(20);
  }
  throw new Error(`It did not listen within 10 s:\n${text}`);
}
