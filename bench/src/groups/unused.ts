import { CLIENT_FIELD } from '../contestants/contestant.js';
import { interleave } from '../measure/rounds.js';
import type { Table, Target } from '../report/result.js';
import { between, tableOf, target } from '../report/tables.js';
import { byId, contender, type Server, startServers } from './contender.js';
import { type Group, ROOMY } from './group.js';
import { clientNames, measureRequests, REQUEST_COLUMNS, REQUESTS_HOW } from './requests.js';

const ROUNDS = 15;
const SECONDS = 0.7;
const CLIENTS = 1_000;

/** Handlers that are beside the one that is measured: see contestants/features.ts. */
const FEATURES = ['turns', 'places', 'adaptive', 'settled', 'penalty'];
const BESIDE = new Set(['ours/memory-beside', 'ours/valkey-beside']);

const CONTENDERS = [
  contender('none/nest'),
  contender('ours/memory'),
  contender('ours/memory-beside'),
  contender('ours/valkey'),
  contender('ours/valkey-beside'),
  contender('ours/memory-metrics'),
  contender('ours/valkey-metrics'),
  contender('ours/valkey-watched'),
  contender('ours/valkey-places'),
  contender('ours/valkey-penalty'),
];

export const unused: Group = {
  title: 'What other handlers use',
  how: [
    ...REQUESTS_HOW,
    '“all of it beside”: other handlers of the same application wait in line, hold places, have an adaptive limit, are settled, have a penalty and priorities, and were all used before; the process may shed (`worker`). The handler that is measured has its one limit, as without',
    '“with metrics”: `telemetry: { metrics: true }` and the SDK of OpenTelemetry, which collects twice a second; “top”: two hundred keys are kept count of',
    '“places”: `concurrency` instead of the token bucket, places that each request takes and gives back; “penalty”: the same limit with `penalty`',
    `${CLIENTS.toLocaleString('en')} clients, nothing is refused: a run in which anything is not 200 is thrown away`,
    `medians of ${ROUNDS} interleaved rounds of ${SECONDS} s after one to warm up; ratios within each round`,
  ],
  async run(bench) {
    const servers = await startServers(CONTENDERS, { valkey: bench.valkey.url, ...ROOMY });
    try {
      for (const server of servers.running) if (BESIDE.has(server.id)) await useFeatures(server);
      const clients = clientNames(CLIENTS);
      const measured = await interleave(servers.running, ROUNDS, (server) =>
        measureRequests(bench, server, { seconds: SECONDS, clients, status: 200 }),
      );
      const table = tableOf({
        id: 'unused',
        title: 'All allowed, 50 connections, with and without other handlers that use more',
        columns: REQUEST_COLUMNS,
        contenders: CONTENDERS,
        rounds: byId(measured),
        missing: servers.missing,
        base: 'none/nest',
      });
      return { tables: [table], targets: targets(table) };
    } finally {
      await servers.stop();
    }
  },
};

/** Two requests at once to each of them, so that somebody waits, and whatever begins with its first use has begun. */
async function useFeatures({ port }: Server): Promise<void> {
  const uses = [...FEATURES, ...FEATURES].map(async (feature) => {
    const url = `http://127.0.0.1:${port}/features/${feature}`;
    const response = await fetch(url, { headers: { [CLIENT_FIELD]: 'of-features' } });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${url} was answered ${response.status}`);
  });
  await Promise.all(uses);
}

function targets(table: Table): Target[] {
  const beside = (row: string) => between(table, `${row}-beside`, row, 'perSecond');
  const metrics = (row: string) => between(table, `${row}-metrics`, row, 'perSecond');
  return [
    target('HTTP, memory: requests/s with metrics, × without', metrics('ours/memory'), 'at least', 0.97),
    target('HTTP, Valkey: requests/s with metrics, × without', metrics('ours/valkey'), 'at least', 0.97),
    target(
      'HTTP, memory: requests/s with all of it beside, × without',
      beside('ours/memory'),
      'at least',
      0.97,
    ),
    target(
      'HTTP, Valkey: requests/s with all of it beside, × without',
      beside('ours/valkey'),
      'at least',
      0.97,
    ),
  ];
}
