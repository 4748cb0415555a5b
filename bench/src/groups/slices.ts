import { interleave } from '../measure/rounds.js';
import { tableOf } from '../report/tables.js';
import { byId, contender, startDeciding } from './contender.js';
import { DECISION_COLUMNS, measureDecisions } from './decisions.js';
import type { Group } from './group.js';

const ROUNDS = 5;
const MILLISECONDS = 600;
const CONCURRENT = 1_000;
const CONTENDERS = [contender('ours/valkey'), contender('ours/valkey-slices')];

export const slices: Group = {
  title: 'One very hot key on Valkey',
  how: [
    `one key, ${CONCURRENT.toLocaleString('en')} decisions under way at any time, \`fixed-window\` of a million a second; with \`slice: { share: 0.1, for: '100ms' }\` and without`,
    `medians of ${ROUNDS} interleaved rounds of ${MILLISECONDS / 1_000} s after one to warm up`,
  ],
  async run(bench) {
    const setting = {
      valkey: bench.valkey.url,
      algorithm: 'fixed-window',
      limit: 1_000_000,
      windowMs: 1_000,
    } as const;
    const deciding = await startDeciding(CONTENDERS, setting);
    try {
      const task = { milliseconds: MILLISECONDS, concurrent: CONCURRENT, clients: 1 };
      const measured = await interleave(deciding.running, ROUNDS, (one) =>
        measureDecisions(bench, one, task),
      );
      const table = tableOf({
        id: 'slices',
        title: 'One key, 1,000 at a time',
        columns: DECISION_COLUMNS,
        contenders: CONTENDERS,
        rounds: byId(measured),
        missing: deciding.missing,
        base: 'ours/valkey',
      });
      return { tables: [table], targets: [] };
    } finally {
      await deciding.stop();
    }
  },
};
