import { medianRound, ratio, type Round } from '../measure/statistics.js';
import type { Column, Row, Table, Target } from './result.js';

export interface TableParts {
  readonly id: string;
  readonly title: string;
  readonly columns: readonly Column[];
  readonly contenders: readonly { readonly id: string; readonly label: string }[];
  /** By id of the contender. */
  readonly rounds: ReadonlyMap<string, readonly Round[]>;
  readonly missing?: ReadonlyMap<string, string>;
  /** Id of the contender that the others are compared with. */
  readonly base?: string;
}

export function tableOf({ id, title, columns, contenders, rounds, missing, base }: TableParts): Table {
  const baseRounds = (base !== undefined && rounds.get(base)) || [];
  const rows = contenders.map(({ id: rowId, label }): Row => {
    const own = rounds.get(rowId) ?? [];
    const names = columns.filter(({ ratioLabel }) => ratioLabel !== undefined).map(({ name }) => name);
    const ratios = names.map((name) => [name, ratio(own, baseRounds, name)] as const);
    const reason = missing?.get(rowId);
    return {
      id: rowId,
      label,
      rounds: own,
      median: medianRound(own),
      ratio: Object.fromEntries(
        ratios.filter((pair): pair is readonly [string, number] => pair[1] !== undefined),
      ),
      ...(reason !== undefined && { missing: reason }),
    };
  });
  return { id, title, columns, rows };
}

/** A median, or undefined where the row was not measured. */
export function figure(table: Table, row: string, name: string): number | undefined {
  return table.rows.find(({ id }) => id === row)?.median[name];
}

/** To the row that the table is compared with. */
export function ratioTo(table: Table, row: string, name: string): number | undefined {
  return table.rows.find(({ id }) => id === row)?.ratio[name];
}

/** Of one row to another one, within each round. */
export function between(table: Table, row: string, other: string, name: string): number | undefined {
  const rounds = (id: string) => table.rows.find((each) => each.id === id)?.rounds ?? [];
  return ratio(rounds(row), rounds(other), name);
}

/** Of one row to the lowest of others. */
export function toLowest(
  table: Table,
  row: string,
  others: readonly string[],
  name: string,
): number | undefined {
  const mine = figure(table, row, name);
  const theirs = others.flatMap((other) => figure(table, other, name) ?? []);
  return mine === undefined || theirs.length === 0 ? undefined : mine / Math.min(...theirs);
}

export function target(
  title: string,
  measured: number | undefined,
  sense: Target['sense'],
  wanted: number,
  { digits = 2, unit = '×' } = {},
): Target {
  const value = measured === undefined || !Number.isFinite(measured) ? null : measured;
  const reached = value === null ? null : sense === 'at least' ? value >= wanted : value <= wanted;
  return { figure: title, sense, wanted, digits, unit, measured: value, reached };
}
