/** Writes docs/benchmarks.md and its pictures from the machine-readable result. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { barChart } from './chart.js';
import { chartsOf } from './charts.js';
import { page } from './page.js';
import { writePretty } from './pretty.js';
import { readResult } from './result-file.js';

const DOCS = join(import.meta.dirname, '../../../docs');

const result = await readResult();
if (Object.keys(result.groups).length === 0) throw new Error('Nothing was measured yet: npm run bench');
await mkdir(join(DOCS, 'benchmarks'), { recursive: true });
for (const [id, chart] of chartsOf(result)) {
  await writeFile(join(DOCS, 'benchmarks', `${id}.svg`), barChart(chart));
}
await writePretty(join(DOCS, 'benchmarks.md'), page(result));
