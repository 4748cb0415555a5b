import type { LocalValkey } from '../../../tools/local-valkey.js';
import type { Child } from '../processes/child.js';
import type { LoadAnswers } from '../processes/load.js';
import type { Table, Target } from '../report/result.js';

/** What a group finds when it begins: a server without keys, and a process that sends requests. */
export interface Bench {
  readonly valkey: LocalValkey;
  readonly load: Child<LoadAnswers>;
  /** Longer rounds, for figures that a few seconds cannot show. */
  readonly long: boolean;
}

/** Some figures that are measured together, so that they can be compared. */
export interface Group {
  readonly title: string;
  readonly how: readonly string[];
  run(bench: Bench): Promise<{ readonly tables: readonly Table[]; readonly targets: readonly Target[] }>;
}

/** High enough that nothing is refused, and low enough that buckets are not full again at once: keys live. */
export const ROOMY = { limit: 10_000, windowMs: 3_600_000 };

/** So low that after the first few requests everything is refused, for longer than any run. */
export const TIGHT = { limit: 5, windowMs: 3_600_000 };
