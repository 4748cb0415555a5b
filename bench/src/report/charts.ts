import { type Chart } from './chart.js';
import { number } from './markdown.js';
import type { BenchResult, Row, Table } from './result.js';

/** Which figures are drawn, from which table. */
interface Drawing {
  readonly table: string;
  readonly title: string;
  readonly says: string;
  readonly value: (row: Row) => number | undefined;
  readonly digits: number;
}

const ratio = (row: Row) => row.ratio['perSecond'];
const perSecond = (row: Row) => row.median['perSecond'];

const DRAWINGS: readonly Drawing[] = [
  {
    table: 'http',
    title: 'Allowed requests',
    says: 'Requests per second as a share of the application without a limiter: longer is better',
    value: ratio,
    digits: 2,
  },
  {
    table: 'refused',
    title: 'Refused requests',
    says: 'Requests per second, × the application that allows everything: longer is better',
    value: ratio,
    digits: 2,
  },
  {
    table: 'decisions-50',
    title: 'Decisions on Valkey, 50 at a time',
    says: 'Decisions per second in one process: longer is better',
    value: perSecond,
    digits: 0,
  },
  {
    table: 'decisions-1000',
    title: 'Decisions on Valkey, 1,000 at a time',
    says: 'Decisions per second in one process: longer is better',
    value: perSecond,
    digits: 0,
  },
  {
    table: 'million',
    title: 'A million clients in memory',
    says: 'Bytes for each client: shorter is better',
    value: (row) => row.median['bytesPerClient'],
    digits: 0,
  },
];

/** By the name of the table, for those tables that were measured. */
export function chartsOf({ groups }: BenchResult): Map<string, Chart> {
  const tables = Object.values(groups).flatMap((group) => group.tables);
  return new Map(
    DRAWINGS.flatMap((drawing) => {
      const table = tables.find(({ id }) => id === drawing.table);
      return table ? [[table.id, chart(drawing, table)] as const] : [];
    }),
  );
}

function chart({ title, says, value, digits }: Drawing, { rows }: Table): Chart {
  const bars = rows.flatMap((row) => {
    const measured = value(row);
    if (measured === undefined) return [];
    const label = row.label.replaceAll(/[*`]/g, '');
    return [{ label, value: measured, text: number(measured, digits), ours: row.id.startsWith('ours/') }];
  });
  return { title, says, bars };
}
