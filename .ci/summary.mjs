// Prints what Jest's reports say in one line. A suite that could not run counts as one failed test.
import { readFileSync } from 'node:fs';

const reports = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, 'utf8')));
const sum = (count) => reports.reduce((all, report) => all + count(report), 0);
const passed = sum((report) => report.numPassedTests);
const failed = sum((report) => report.numFailedTests + report.numRuntimeErrorTestSuites);
console.log(`tests: ${passed} passed, ${failed} failed`);
