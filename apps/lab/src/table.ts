import type { RunOn } from './place.js';

/** A Markdown table, padded so that it can be read as it is, and below it what it was run on. */
export function table(header: readonly string[], rows: readonly (readonly string[])[], ranOn: RunOn): string {
  const widths = header.map((_, column) =>
    Math.max(3, ...[header, ...rows].map((cells) => (cells[column] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width)).join(' | ')} |`;
  const rule = line(widths.map((width) => '-'.repeat(width)));
  return [line(header), rule, ...rows.map(line), '', `Run on ${ranOn.server}, Node ${ranOn.node}.`].join(
    '\n',
  );
}
