import { inFault, type Kind, kindOf, quantile } from './answers.js';
import type { Course } from './course.js';
import { type Route, routes } from './load.js';

const MB = 1024 * 1024;

/** How a column is called, and what it says of a course. */
const columns: Readonly<Record<string, (course: Course) => string | number>> = {
  fault: ({ scenario }) => scenario.name,
  on: ({ adapter }) => adapter,
  requests: ({ sent }) => sent.length,
  answered: ({ sent }) => sent.filter(({ error }) => error === undefined).length,
  'fault s': ({ moments }) => ((moments.mended - moments.harming) / 1_000).toFixed(1),
  'p50 ms': (course) => quantile(inFault(course), 0.5).toFixed(1),
  'p99 ms': (course) => quantile(inFault(course), 0.99).toFixed(1),
  'max ms': (course) => quantile(inFault(course), 1).toFixed(1),
  ...Object.fromEntries(
    routes.map((route) => [`${route} 200/429/503`, (course: Course) => told(course, route)]),
  ),
  'recovered ms': ({ recovered, moments }) => Math.round(recovered - moments.mended),
  'heap MB': ({ heapGrowth }) => (heapGrowth / MB).toFixed(1).replace('-0.0', '0.0'),
  'ended ms': ({ ended }) => Math.round(ended.ms),
  'in fault': ({ endedInFault }) => (endedInFault ? Math.round(endedInFault.ms) : ''),
};

/** The cells of a line, in the order of the columns. */
export type Row = readonly string[];

const names = Object.keys(columns);

/** What happened to one application. Times and statuses are those of the fault. */
export function rowOf(course: Course): Row {
  return names.map((name) => String(columns[name]!(course)));
}

/** The rows in Markdown. */
export function table(rows: readonly Row[]): string {
  const widths = names.map((name, index) =>
    Math.max(name.length, ...rows.map((cells) => cells[index]!.length)),
  );
  const line = (cells: Row) =>
    `| ${cells.map((cell, index) => (index < 2 ? cell.padEnd(widths[index]!) : cell.padStart(widths[index]!))).join(' | ')} |`;
  const rule = widths.map((width, index) => (index < 2 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(names), line(rule), ...rows.map(line)].join('\n');
}

function told(course: Course, route: Route): string {
  const kinds = inFault(course)
    .filter((sent) => sent.route === route)
    .map(kindOf);
  const count = (...wanted: Kind[]) => kinds.filter((kind) => wanted.includes(kind)).length;
  return [count('allowed', 'passed'), count('denied'), count('unavailable')].join('/');
}
