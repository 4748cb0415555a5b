import { interleave } from '../measure/rounds.js';
import type { Round } from '../measure/statistics.js';
import { whileRunning } from '../measure/valkey-costs.js';
import type { DecisionTask } from '../processes/decisions.js';
import type { Column, Table, Target } from '../report/result.js';
import { between, tableOf, target, toLowest } from '../report/tables.js';
import { byId, contender, type Deciding, type Started, startDeciding } from './contender.js';
import { type Bench, type Group, ROOMY } from './group.js';

const ROUNDS = 5;
const MILLISECONDS = 800;
const CLIENTS = 1_000;

export const DECISION_COLUMNS: readonly Column[] = [
  { name: 'perSecond', label: 'decisions/s', digits: 0, ratioLabel: '× this library' },
  { name: 'p50', label: 'p50 ms', digits: 2 },
  { name: 'p99', label: 'p99 ms', digits: 2 },
  { name: 'cpu', label: 'Node CPU µs', digits: 1 },
  { name: 'valkeyCpu', label: 'Valkey CPU µs', digits: 2 },
  { name: 'scripts', label: 'script calls', digits: 3 },
];

const CONTENDERS = [
  contender('none/get'),
  contender('ours/valkey', {}, '**this library**'),
  contender('hand/valkey', {}, 'hand-written EVALSHA'),
  contender('flexible/valkey', {}, 'rate-limiter-flexible'),
  contender('throttler/redis', {}, '@nestjs/throttler’s Redis store'),
];

export const decisions: Group = {
  title: 'Decisions on Valkey, without HTTP',
  how: [
    'each contestant in a process of its own; as many decisions are under way at any time as the title says, each asked for when the one before it was answered',
    `${CLIENTS.toLocaleString('en')} clients in turns; nothing is refused`,
    `medians of ${ROUNDS} interleaved rounds of ${MILLISECONDS / 1_000} s after one to warm up`,
  ],
  async run(bench) {
    const deciding = await startDeciding(CONTENDERS, { valkey: bench.valkey.url, ...ROOMY });
    try {
      const few = await measureAt(bench, deciding, 50);
      const many = await measureAt(bench, deciding, 1_000);
      return { tables: [few, many], targets: [...targets(few, many)] };
    } finally {
      await deciding.stop();
    }
  },
};

async function measureAt(bench: Bench, deciding: Started<Deciding>, concurrent: number): Promise<Table> {
  const task = { milliseconds: MILLISECONDS, concurrent, clients: CLIENTS };
  const measured = await interleave(deciding.running, ROUNDS, (one) => measureDecisions(bench, one, task));
  return tableOf({
    id: `decisions-${concurrent}`,
    title: `${concurrent.toLocaleString('en')} at a time`,
    columns: DECISION_COLUMNS,
    contenders: CONTENDERS,
    rounds: byId(measured),
    missing: deciding.missing,
    base: 'ours/valkey',
  });
}

export async function measureDecisions(
  { valkey }: Bench,
  { child }: Deciding,
  task: DecisionTask,
): Promise<Round> {
  const { result, spent } = await whileRunning(valkey, () => child.ask('together', task));
  const { perSecond, p50, p99, decisions: count, cpuMicros } = result;
  return {
    perSecond,
    p50,
    p99,
    cpu: cpuMicros / count,
    valkeyCpu: spent.cpuMicros / count,
    scripts: spent.scripts / count,
  };
}

function targets(few: Table, many: Table): Target[] {
  const ours = 'ours/valkey';
  const faster = (table: Table, peer: string) => between(table, ours, peer, 'perSecond');
  const peers = ['flexible/valkey', 'throttler/redis'];
  return [
    target('50 at a time: decisions/s, × rate-limiter-flexible', faster(few, peers[0]!), 'at least', 1.5),
    target('50 at a time: decisions/s, × throttler’s store', faster(few, peers[1]!), 'at least', 2),
    target('50 at a time: p99, × the better of the two', toLowest(few, ours, peers, 'p99'), 'at most', 1),
    target('1,000 at a time: decisions/s, × rate-limiter-flexible', faster(many, peers[0]!), 'at least', 2.2),
    target('1,000 at a time: decisions/s, × throttler’s store', faster(many, peers[1]!), 'at least', 3),
    target(
      '1,000 at a time: Valkey CPU, × rate-limiter-flexible',
      between(many, ours, peers[0]!, 'valkeyCpu'),
      'at most',
      0.6,
    ),
  ];
}
