// Prints what Jest's report says in one line. A suite that could not run counts as one failed test.
import { readFileSync } from 'node:fs';

const report = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
console.log(`tests: ${report.numPassedTests} passed, ${failed} failed`);
