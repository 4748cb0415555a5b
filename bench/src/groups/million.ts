import { type VariantId } from '../contestants/index.js';
import type { Round } from '../measure/statistics.js';
import { Child } from '../processes/child.js';
import type { MillionAnswers } from '../processes/million.js';
import type { Column, Target } from '../report/result.js';
import { figure, tableOf, target } from '../report/tables.js';
import { contender } from './contender.js';
import type { Group } from './group.js';

const CLIENTS = 1_000_000;
/** Longer than inserting takes, so that none has expired when all are there. */
const WINDOW_MS = 8_000;

const CONTENDERS = (
  [
    'ours/memory',
    'hand/memory',
    'fastify/memory',
    'flexible/memory',
    'throttler/memory',
  ] satisfies VariantId[]
).map((id) => contender(id));

const COLUMNS: readonly Column[] = [
  { name: 'bytesPerClient', label: 'bytes per client', digits: 0 },
  { name: 'insertSeconds', label: 'inserted in s', digits: 1 },
  { name: 'insertStallMs', label: 'longest stall while inserting, ms', digits: 1 },
  { name: 'expiryStallMs', label: 'while they expire, ms', digits: 1 },
  { name: 'bytesPerClientAfter', label: 'bytes per client afterwards', digits: 1 },
  { name: 'idleStallMs', label: 'stall of an idle process, ms', digits: 1 },
];

export const million: Group = {
  title: 'A million clients in memory',
  how: [
    'each contestant in a process of its own, once: heap and memory outside of it after a forced collection, before and after a million clients came once each, and when all have expired; keys are counted too',
    `one request in ${WINDOW_MS / 1_000} s is allowed to each, so that a client lives for the whole window, and not only for the moment until its bucket is full again`,
    'a stall is the longest time from one turn of the event loop to the next, collections of garbage included; a turn inserts 200 clients, or one while they expire. That of a process that does nothing stands beside it',
  ],
  async run({ valkey }) {
    const rounds = new Map<string, Round[]>();
    for (const { id, variant } of CONTENDERS) {
      // One request a window: a token bucket that is full again is as good as forgotten.
      const setting = JSON.stringify({ valkey: valkey.url, limit: 1, windowMs: WINDOW_MS });
      const child = await Child.start<MillionAnswers>('million.js', [variant, setting], ['--expose-gc']);
      try {
        rounds.set(id, [{ ...(await child.ask('run', CLIENTS)) }]);
      } finally {
        await child.stop();
      }
      process.stderr.write('.');
    }
    process.stderr.write('\n');
    const title = 'A million clients, each once';
    const table = tableOf({ id: 'million', title, columns: COLUMNS, contenders: CONTENDERS, rounds });
    const ours = (name: string) => figure(table, 'ours/memory', name);
    const most = (name: string, what: string, wanted: number, unit: string): Target =>
      target(`A million clients: ${what}`, ours(name), 'at most', wanted, { digits: 1, unit });
    return {
      tables: [table],
      targets: [
        most('bytesPerClient', 'heap per client', 110, 'bytes'),
        most('insertStallMs', 'longest stall while inserting', 5, 'ms'),
        most('expiryStallMs', 'longest stall while they expire', 5, 'ms'),
        most('bytesPerClientAfter', 'heap per client when all have expired', 5, 'bytes'),
      ],
    };
  },
};
