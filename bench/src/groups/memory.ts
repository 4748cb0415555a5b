import type { VariantId } from '../contestants/index.js';
import { interleave } from '../measure/rounds.js';
import type { Column, Table, Target } from '../report/result.js';
import { between, tableOf, target } from '../report/tables.js';
import { contender, type Deciding, startDeciding } from './contender.js';
import { type Group, TIGHT } from './group.js';

const ROUNDS = 5;
const MILLISECONDS = 300;
const HOUR_MS = 3_600_000;

interface Workload {
  readonly name: string;
  readonly title: string;
  readonly clients: number;
  readonly limit: number;
}

/** Limits that no client reaches, and at which buckets do not fill up again between two requests of a client. */
const WORKLOADS: readonly Workload[] = [
  { name: 'thousand', title: '1,000 clients', clients: 1_000, limit: 1_000_000 },
  { name: 'many', title: '200,000 clients', clients: 200_000, limit: 10_000 },
  { name: 'one', title: 'one client', clients: 1, limit: 1_000_000_000 },
  { name: 'refused', title: '1,000 clients, all refused', clients: 1_000, limit: TIGHT.limit },
];

const VARIANTS = [
  'ours/memory',
  'hand/memory',
  'fastify/memory',
  'flexible/memory',
  'throttler/memory',
] satisfies VariantId[];

export const memory: Group = {
  title: 'Decisions in memory, without HTTP',
  how: [
    'each contestant and each kind of work in a process of its own; one decision after the other, awaited where it is a promise, and a turn of the event loop after every 500',
    `medians of ${ROUNDS} interleaved rounds of ${MILLISECONDS / 1_000} s after one to warm up`,
  ],
  async run({ valkey }) {
    const contenders = VARIANTS.map((id) => contender(id));
    const measured = new Map<string, Record<string, number>[]>();
    for (const { name, clients, limit } of WORKLOADS) {
      const setting = { valkey: valkey.url, limit, windowMs: HOUR_MS };
      const deciding = await startDeciding(contenders, setting);
      try {
        const rounds = await interleave(deciding.running, ROUNDS, ({ child }: Deciding) =>
          child
            .ask('inTurn', { milliseconds: MILLISECONDS, concurrent: 1, clients })
            .then(({ perSecond }) => ({ [name]: perSecond / 1e6 })),
        );
        for (const [{ id }, figures] of rounds) {
          const known = measured.get(id) ?? [];
          measured.set(
            id,
            figures.map((round, index) => ({ ...known[index], ...round })),
          );
        }
      } finally {
        await deciding.stop();
      }
    }
    const columns = WORKLOADS.map(({ name, title }): Column => ({ name, label: title, digits: 3 }));
    const title = 'Millions of decisions a second';
    const table = tableOf({ id: 'memory', title, columns, contenders, rounds: measured });
    return { tables: [table], targets: targets(table) };
  },
};

function targets(table: Table): Target[] {
  const ours = 'ours/memory';
  const against = WORKLOADS.slice(0, 3).map(({ name, title }) =>
    target(
      `Memory, ${title}: decisions/s, × rate-limiter-flexible`,
      between(table, ours, 'flexible/memory', name),
      'at least',
      2.5,
    ),
  );
  const own = table.rows.find(({ id }) => id === ours)?.median;
  const hot = own?.['one'] !== undefined && own['thousand'] ? own['one'] / own['thousand'] : undefined;
  return [...against, target('Memory: one client, × 1,000 clients', hot, 'at least', 1)];
}
