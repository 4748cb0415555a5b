import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { scenarios } from '../failure/suite/scenarios/index.js';

test('the guide shows every fault that the failure suite does, on both adapters', async () => {
  const page = await readFile(new URL('../../docs/failure.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| (\S.*?) +\| (fastify|express) +\|/gm)].map(([, fault, on]) => [
    fault,
    on,
  ]);
  expect(rows).toEqual(
    scenarios.flatMap(({ name }) => [
      [name, 'fastify'],
      [name, 'express'],
    ]),
  );
});
