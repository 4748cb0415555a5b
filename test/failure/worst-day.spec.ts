import { writeFile } from 'node:fs/promises';
import { afterAll, describe, expect, jest, test } from '@jest/globals';
import { runApart } from './suite/apart.js';
import { scenarios } from './suite/scenarios/index.js';
import { type Row, table } from './suite/table.js';

// On a busy machine a scenario may begin anew, and again.
jest.setTimeout(300_000);

const rows = new Map<string, readonly Row[]>();

// Straight to the terminal, as Jest would put a trace around it; and into the file that FAILURE_TABLE names.
afterAll(async () => {
  const markdown = `${table([...rows.values()].flat())}\n`;
  process.stdout.write(`\n${markdown}\n`);
  const file = process.env['FAILURE_TABLE'];
  if (file) await writeFile(file, markdown);
});

describe("on Valkey's worst day", () => {
  test.each(scenarios)('$name: every request is answered as its policy says', async (scenario) => {
    const outcome = await runApart(scenario);
    rows.set(scenario.name, outcome.rows);
    expect(outcome.broken).toEqual([]);
  });
});
