import type { AdapterName } from '../../support/adapters.js';
import type { Ended } from './application.js';
import type { Held } from './held.js';
import type { Sent } from './load.js';
import type { Scenario } from './scenario.js';

/** When what was done to the server, by `performance.now()`. */
export interface Moments {
  harming: number;
  harmed: number;
  mending: number;
  mended: number;
}

/** What one application went through. */
export interface Course {
  readonly scenario: Scenario;
  readonly adapter: AdapterName;
  readonly moments: Readonly<Moments>;
  /** When Valkey decided again. */
  readonly recovered: number;
  readonly sent: readonly Sent[];
  /** How much the machine was busy with something else: this process and the application had to wait. */
  readonly held: readonly Held[];
  /** What a client that is new after all that gets on each route, one request after the other. */
  readonly fresh: readonly Sent[];
  /** By how many bytes the heap has grown in the fault. */
  readonly heapGrowth: number;
  readonly burst: Readonly<Record<string, number>> | undefined;
  readonly lines: readonly string[];
  /** What it printed beside the log, and the neighbour where there is one. */
  readonly stderr: string;
  readonly ended: Ended;
  /** How its neighbour ended in the fault. Only one of the applications has a neighbour. */
  readonly endedInFault: Ended | undefined;
}
