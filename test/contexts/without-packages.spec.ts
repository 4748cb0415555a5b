import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

const run = promisify(execFile);

test('an application of HTTP handlers needs no package of another context', async () => {
  const { stdout } = await run('node', ['test/contexts/support/plain-app.mjs']);
  expect(stdout.trim()).toBe('200 200 429 429');
});
