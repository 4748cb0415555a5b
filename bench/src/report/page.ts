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
    '## What stands in the way',
    OBSTACLES,
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
    const picture = charts.has(table.id) ? [`![${table.title}](benchmarks/${table.id}.svg)`] : [];
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

/** What profiles and trials said of figures that were not reached. */
const OBSTACLES = [
  'The machine: two virtual processors that others use as well, for application, load and Valkey. The same figure of two full runs an hour apart: HTTP in memory 0.84 and 0.72 ×, 50 decisions at a time 1.72 and 1.18 × rate-limiter-flexible. A ratio near its target says little.',
  'Refused before Nest: four fifths of the time of such a process are the kernel’s, in the write of the answer. A Fastify hook that does nothing but send the same 560 bytes came to 1.03, 1.14 and 1.32 × in three short runs, this library to 1.04 × beside 1.14. What was tried: making the answer once a second and not for each request, sending the text instead of an object that Fastify serializes, not asking Fastify for the route while nobody is refused.',
  'Refused by the guard: Nest’s way of an exception through guard and filter. Between writes the kernel drives a program out of the processor’s caches, and each of the functions on that way costs half a microsecond to one again. No stack trace is built, and the problem document is made once a second.',
  'Decisions in memory: a decision has `remaining`, `nextMs`, `resetMs` and a promise, of integers that are exact; rate-limiter-flexible counts in an object. A decision takes some 0.75 µs, a quarter of it reading and hashing the key. It took 1.1 µs before quotients were one division, verdicts were written out instead of copied, and an attempt was made once. At 200,000 clients the memory itself is what is waited for.',
  'Stalls with a million clients: the longest were collections of garbage, mostly the first times that the young generation grows; with that done before, 5 to 9 ms while they came and 3.5 ms while they ran out (three runs). A process that does nothing was held up for as long as the table says.',
  'The attacker’s calls: one a second is his, as `denyCache` is a second; 1.25 a second look for changed limits, whoever comes.',
  'What other handlers use: a quiet run before it, with the metrics of then, said 0.96 and 0.99 × with all of it beside, and 0.95 and 0.97 × with metrics, which have become cheaper since. Runs while others used the machine said anything from 0.75 to 1.17 ×: only a quiet one counts.',
  'A million clients on Valkey: its own time per decision is the same; what grows is the time of the process that asks, which holds a million names.',
]
  .map((remark) => `- ${remark}`)
  .join('\n');

const REPEAT = `\`\`\`sh
npm ci
npm run bench                        # everything, in some twelve minutes on a quiet machine
npm run bench -- http decisions      # some groups only: http refused decisions memory million bytes attack growth slices unused
npm run bench -- attack --long       # 20 s of attack
npm run docs --prefix bench          # this page and its pictures, from bench/results/latest.json
\`\`\`

A Valkey is found or fetched as for the tests (\`VALKEY_SERVER\` names a binary). [bench/results/latest.json](../bench/results/latest.json) has every round of every figure; its shape is described in [bench/src/report/result.ts](../bench/src/report/result.ts). A group that is measured again replaces that group only, and says when.`;
