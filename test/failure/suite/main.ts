/**
 * Runs the scenario that is named in a process of its own, and tells the parent what came of it. Loads and proxies are
 * part of it: beside hundreds of other tests they would stand still while a large heap is collected, and what they
 * measure would be that.
 */
import { brokenPromises } from './promises.js';
import { run } from './run.js';
import { scenarios } from './scenarios/index.js';
import { type Row, rowOf } from './table.js';

/** What came of a scenario. */
export interface Outcome {
  /** In words, with the adapter: none, if all is well. */
  readonly broken: readonly string[];
  /** Of the table: one for each adapter. */
  readonly rows: readonly Row[];
}

const name = process.argv[2];
const scenario = scenarios.find((one) => one.name === name);
if (scenario === undefined) throw new Error(`There is no scenario "${name}".`);
// A parent that is gone waits for nothing.
process.once('disconnect', () => process.exit(1));
const courses = await run(scenario);
const outcome: Outcome = {
  broken: courses.flatMap((course) => brokenPromises(course).map((one) => `${course.adapter}: ${one}`)),
  rows: courses.map(rowOf),
};
process.send!(outcome, () => process.exit());
