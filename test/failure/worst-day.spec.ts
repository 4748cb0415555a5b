import { writeFile } from 'node:fs/promises';
import { afterAll, describe, expect, jest, test } from '@jest/globals';
import type { Course } from './suite/course.js';
import { brokenPromises } from './suite/promises.js';
import { run } from './suite/run.js';
import { scenarios } from './suite/scenarios/index.js';
import { table } from './suite/table.js';

// On a busy machine a scenario may begin anew, and again.
jest.setTimeout(300_000);

const courses = new Map<string, readonly Course[]>();

// Straight to the terminal, as Jest would put a trace around it; and into the file that FAILURE_TABLE names.
afterAll(async () => {
  const markdown = `${table([...courses.values()].flat())}\n`;
  process.stdout.write(`\n${markdown}\n`);
  const file = process.env['FAILURE_TABLE'];
  if (file) await writeFile(file, markdown);
});

describe("on Valkey's worst day", () => {
  test.each(scenarios)('$name: every request is answered as its policy says', async (scenario) => {
    const both = await run(scenario);
    courses.set(scenario.name, both);
    const broken = both.flatMap((course) => brokenPromises(course).map((one) => `${course.adapter}: ${one}`));
    expect(broken).toEqual([]);
  });
});
