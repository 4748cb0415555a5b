import type { BenchResult, Column, GroupResult, Row, Table, Target } from './result.js';

type Cells = readonly string[];

export function resultTables(result: BenchResult): string {
  const groups = Object.values(result.groups);
  return [targetTable(groups.flatMap(({ targets }) => targets)), ...groups.map(groupTables)].join('\n\n');
}

function groupTables({ title, tables }: GroupResult): string {
  const shown = tables.map((table) => [`### ${table.title}`, tableMarkdown(table), ...missingRemarks(table)]);
  return [`## ${title}`, ...shown.flat()].join('\n\n');
}

export function targetTable(targets: readonly Target[]): string {
  const rows = targets.map(({ figure, sense, wanted, digits, unit, measured, reached }): Cells => [
    figure,
    `${sense === 'at least' ? '≥' : '≤'} ${withUnit(wanted, wanted < 0.01 ? 3 : decimals(wanted), unit)}`,
    measured === null ? 'n/a' : withUnit(measured, digits, unit),
    reached === null ? 'n/a' : reached ? 'yes' : '**no**',
  ]);
  return markdown(['figure', 'to reach', 'measured', 'reached'], rows);
}

export function tableMarkdown({ columns, rows }: Table): string {
  const shown = columns.filter(({ name }) => rows.some(({ median }) => median[name] !== undefined));
  const head = shown.flatMap(({ label, ratioLabel }) => (ratioLabel ? [label, ratioLabel] : [label]));
  return markdown(
    ['', ...head],
    rows.map((row) => [row.label, ...shown.flatMap((column) => cells(row, column))]),
  );
}

/** Why rows have no figures, as a list, or nothing. */
export function missingRemarks({ rows }: Table): string[] {
  const remarks = rows.flatMap(({ label, missing }) =>
    missing === undefined ? [] : [`- n/a: ${label}: ${missing.split('\n', 1)[0]}`],
  );
  return remarks.length > 0 ? [remarks.join('\n')] : [];
}

function cells({ median, ratio }: Row, { name, digits, ratioLabel }: Column): string[] {
  const value = median[name];
  const shown = value === undefined ? 'n/a' : number(value, digits);
  if (ratioLabel === undefined) return [shown];
  const share = ratio[name];
  return [shown, share === undefined ? '' : number(share, 2)];
}

export function number(value: number, digits: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function withUnit(value: number, digits: number, unit: string): string {
  return `${number(value, digits)}${unit === '' ? '' : ` ${unit}`}`;
}

function decimals(value: number): number {
  return Number.isInteger(value) ? 0 : value * 10 === Math.round(value * 10) ? 1 : 2;
}

/** With cells of one width, as prettier has them. */
function markdown(head: Cells, rows: readonly Cells[]): string {
  const widths = head.map((cell, column) =>
    Math.max(3, ...[head, ...rows].map((row) => row[column]!.length), cell.length),
  );
  const line = (row: Cells) =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join(' | ')} |`;
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}
