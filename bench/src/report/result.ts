import type { Round } from '../measure/statistics.js';

/**
 * The machine-readable result, `results/latest.json`. A group that was measured replaces that group and leaves the
 * others, so each says itself when and on what it was measured.
 */
export interface BenchResult {
  /** Of this shape. Counted up when it changes. */
  readonly shape: 1;
  readonly groups: Readonly<Record<string, GroupResult>>;
}

export interface GroupResult {
  readonly title: string;
  /** ISO 8601, UTC. */
  readonly measured: string;
  /** How long all of it took. */
  readonly seconds: number;
  readonly environment: Environment;
  /** How it was measured, as sentences. */
  readonly how: readonly string[];
  readonly tables: readonly Table[];
  readonly targets: readonly Target[];
}

export interface Environment {
  readonly node: string;
  /** Name and version of the server. */
  readonly valkey: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  /** Of the repository, with `+` when files were changed since. */
  readonly commit: string;
  /** Of everything that was measured, by package. */
  readonly packages: Readonly<Record<string, string>>;
}

export interface Table {
  readonly id: string;
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}

export interface Column {
  /** Of the figure in a round. */
  readonly name: string;
  readonly label: string;
  readonly digits: number;
  /** Also shown as what it is of the row that the table is compared with. */
  readonly ratioLabel?: string;
}

export interface Row {
  readonly id: string;
  readonly label: string;
  readonly rounds: readonly Round[];
  /** Of each figure. */
  readonly median: Round;
  /** To the row that the table is compared with, by figure: the medians of the ratios within each round. */
  readonly ratio: Round;
  /** Why there are no figures. */
  readonly missing?: string;
}

export interface Target {
  readonly figure: string;
  readonly sense: 'at least' | 'at most';
  readonly wanted: number;
  readonly digits: number;
  readonly unit: string;
  /** Null where it could not be measured. */
  readonly measured: number | null;
  readonly reached: boolean | null;
}
