import { chartsOf } from './charts.js';
import { missingRemarks, tableMarkdown, targetTable } from './markdown.js';
import type { BenchResult, Environment, GroupResult } from './result.js';

/** docs/benchmarks.md, from the machine-readable result. */
export function page(result: BenchResult): string {
  const groups = Object.values(result.groups);
  const charts = new Set(chartsOf(result).keys());
  const oneRun = new Set(groups.map(({ environment }) => JSON.stringify(environment))).size === 1;
  return [
    '<!-- Written by `npm run docs --prefix bench` from bench/results/latest.json. Change those. -->',
    '# Benchmarks',
    intro(groups, oneRun),
    '## What was to be reached',
    targetTable(groups.flatMap(({ targets }) => targets)),
    ...groups.map((group) => section(group, charts, oneRun)),
    '## How to read it',
    REMARKS,
    '## Measured with',
    ...(oneRun ? [versions(groups[0]!.environment)] : ['Each part above says what it was measured with.']),
    '## To repeat it',
    REPEAT,
  ].join('\n\n');
}

function intro(groups: readonly GroupResult[], oneRun: boolean): string {
  const days = [...new Set(groups.map(({ measured }) => measured.slice(0, 10)))].toSorted();
  const when = oneRun ? `Measured ${days.join(' and ')}, all on one build.` : 'Measured in several runs.';
  return `What a limit costs, beside what others cost. ${when} Trust the ratios: they compare what ran within the same minutes on the same machine. Absolute figures are those of that machine.`;
}

function section(
  { title, tables, how, measured, seconds, environment }: GroupResult,
  charts: ReadonlySet<string>,
  oneRun: boolean,
): string {
  const shown = tables.map((table) => {
    const picture = charts.has(table.id) ? [`![${table.title}](pictures/bench-${table.id}.svg)`] : [];
    return [`### ${table.title}`, ...picture, tableMarkdown(table), ...missingRemarks(table)].join('\n\n');
  });
  const when = `Measured ${measured.slice(0, 16).replace('T', ' ')} UTC in ${seconds.toFixed(0)} s${oneRun ? '' : ` with ${versions(environment)}`}`;
  const facts = [...how, when].map((fact) => `- ${fact[0]!.toUpperCase()}${fact.slice(1)}.`).join('\n');
  return [`## ${title}`, ...shown, facts].join('\n\n');
}

function versions({ node, valkey, cpu, cores, memoryGiB, system, commit, packages }: Environment): string {
  const named = Object.entries(packages).map(([name, version]) => `${name} ${version}`);
  return `Node ${node}, ${valkey}, ${cores} × ${cpu}, ${memoryGiB} GiB, ${system}; ${named.join(', ')}; this library at commit ${commit}`;
}

const REMARKS = [
  'Application, load generator and Valkey share the cores of one machine over the loopback. With few cores whoever asks Valkey also takes time from the application, which between machines it would not; waiting for the network costs latency there instead.',
  'What is measured in rounds is a median, also of the peers. Rounds are interleaved, each begins with another contestant, and ratios are taken within a round.',
  'Every limiter tells clients apart by a header field and answers with its own header fields: those cost requests too. Where a peer brings no guard, the guard around it sets three.',
  'Algorithms differ: here it is a token bucket unless the row says otherwise. @nestjs/throttler keeps a log of stamps in memory and a fixed window in Redis; rate-limiter-flexible, @fastify/rate-limit and express-rate-limit have fixed windows; the hand-written script is a token bucket in a hash, the hand-written map a fixed window that forgets nobody.',
  '@fastify/rate-limit within Nest needs an `errorResponseBuilder` that throws what Nest knows: its own error would be answered with 500. It is given a cache of a million clients, because what it evicts is free again.',
  'Rows named “refused before Nest” and “deny cache” answer from this process for at most as long as the option `denyCache` says; the one in a while that asks Valkey again is in the figures.',
  'On Valkey this library is given a deadline of 5 s instead of 50 ms, and `onStoreFailure: closed`: nothing that Valkey did not decide is counted. All its other options are the defaults, unless the row says otherwise.',
  'A figure that was not reached says “no”. A row that this build cannot run says “n/a”, with the reason below its table.',
]
  .map((remark) => `- ${remark}`)
  .join('\n');

const REPEAT = `\`\`\`sh
npm ci
npm run bench                        # everything, in less than ten minutes on a quiet machine
npm run bench -- http decisions      # some groups only: http refused decisions memory million bytes attack growth slices
npm run bench -- attack --long       # 20 s of attack
npm run docs --prefix bench          # this page and its pictures, from bench/results/latest.json
\`\`\`

A Valkey is found or fetched as for the tests (\`VALKEY_SERVER\` names a binary). [bench/results/latest.json](../bench/results/latest.json) has every round of every figure; its shape is described in [bench/src/report/result.ts](../bench/src/report/result.ts). A group that is measured again replaces that group only, and says when.`;
