import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { ownValkey } from './support/valkey.js';

const run = promisify(execFile);

test.each([5, 100])('of 1,000 calls from 4 processes at limit %d, exactly that many pass', async (limit) => {
  const { url } = await ownValkey();
  const takers = Array.from({ length: 4 }, () =>
    run('node', ['test/support/taker.mjs', url, '250', String(limit)]),
  );
  const allowed = (await Promise.all(takers)).map(({ stdout }) => Number(stdout));
  expect(allowed.reduce((sum, each) => sum + each, 0)).toBe(limit);
});
