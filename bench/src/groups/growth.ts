import { interleave } from '../measure/rounds.js';
import type { Round } from '../measure/statistics.js';
import type { Column, Table, Target } from '../report/result.js';
import { between, tableOf, target } from '../report/tables.js';
import { byId, contender, startDeciding, startServers } from './contender.js';
import { DECISION_COLUMNS, measureDecisions } from './decisions.js';
import { type Bench, type Group, ROOMY } from './group.js';
import { clientNames, measureRequests, REQUEST_COLUMNS } from './requests.js';

const ROUNDS = 5;
const MILLISECONDS = 800;
const SECONDS = 0.8;
const CONCURRENT = 1_000;
const CLIENTS = [1_000, 1_000_000] as const;

const APPLICATIONS = [
  contender('none/nest'),
  contender('ours/valkey', { policies: 1 }, '**this library**, 1 policy'),
  contender('ours/valkey', { policies: 2 }, '**this library**, 2 policies'),
  contender('ours/valkey', { policies: 3 }, '**this library**, 3 policies'),
];

export const growth: Group = {
  title: 'What it costs as work grows',
  how: [
    `clients: decisions without HTTP, ${CONCURRENT.toLocaleString('en')} at a time; every client is known to the server before, each number of clients in a database of its own`,
    'policies: the application over HTTP, 1,000 clients; what a request takes longer than without a limiter, and its slope from 1 to 3 policies as a share of the first',
    `medians of ${ROUNDS} interleaved rounds of ${SECONDS} s after one to warm up`,
  ],
  async run(bench) {
    const clients = await overClients(bench);
    const policies = await overPolicies(bench);
    return { tables: [clients, policies], targets: targets(clients, policies) };
  },
};

async function overClients(bench: Bench): Promise<Table> {
  const contenders = CLIENTS.map((count, database) => ({
    ...contender('ours/valkey', { valkey: `${bench.valkey.url}/${database}` }),
    id: `clients-${count}`,
    label: `${count.toLocaleString('en')} clients`,
    clients: count,
  }));
  const countOf = new Map(contenders.map(({ id, clients }) => [id, clients]));
  const deciding = await startDeciding(contenders, { valkey: bench.valkey.url, ...ROOMY });
  try {
    for (const { id, child } of deciding.running) await child.ask('meet', countOf.get(id)!);
    const measured = await interleave(deciding.running, ROUNDS, (one) =>
      measureDecisions(bench, one, {
        milliseconds: MILLISECONDS,
        concurrent: CONCURRENT,
        clients: countOf.get(one.id)!,
      }),
    );
    return tableOf({
      id: 'growth-clients',
      title: 'More clients',
      columns: DECISION_COLUMNS.map((column) =>
        column.ratioLabel ? { ...column, ratioLabel: '× 1,000 clients' } : column,
      ),
      contenders,
      rounds: byId(measured),
      missing: deciding.missing,
      base: `clients-${CLIENTS[0]}`,
    });
  } finally {
    await deciding.stop();
  }
}

async function overPolicies(bench: Bench): Promise<Table> {
  const servers = await startServers(APPLICATIONS, { valkey: bench.valkey.url, ...ROOMY });
  try {
    const clients = clientNames(1_000);
    const measured = await interleave(servers.running, ROUNDS, (server) =>
      measureRequests(bench, server, { seconds: SECONDS, clients, status: 200 }),
    );
    const added: Column = { name: 'added', label: 'µs more than without', digits: 1 };
    return tableOf({
      id: 'growth-policies',
      title: 'More policies',
      columns: [...REQUEST_COLUMNS.slice(0, 4), added],
      contenders: APPLICATIONS,
      rounds: withAdded(byId(measured)),
      missing: servers.missing,
      base: 'none/nest',
    });
  } finally {
    await servers.stop();
  }
}

/** What a request takes longer than one of the same round that nobody limits. */
function withAdded(rounds: ReadonlyMap<string, readonly Round[]>): Map<string, readonly Round[]> {
  const base = rounds.get('none/nest') ?? [];
  return new Map(
    [...rounds].map(([id, own]) => [
      id,
      own.map((round, index) => ({ ...round, added: micros(round) - micros(base[index]) })),
    ]),
  );
}

function targets(clients: Table, policies: Table): Target[] {
  const [few, many] = CLIENTS;
  const kept = between(clients, `clients-${many}`, `clients-${few}`, 'perSecond');
  const third = between(policies, 'ours/valkey-3', 'ours/valkey-1', 'added');
  const slope = third === undefined ? undefined : (third - 1) / 2;
  return [
    target('1,000,000 clients on Valkey: decisions/s, × 1,000 clients', kept, 'at least', 0.9),
    target('Each further policy: × the cost of the first', slope, 'at most', 0.25),
  ];
}

function micros(round: Round | undefined): number {
  return 1e6 / (round?.['perSecond'] ?? Number.NaN);
}
