import { setTimeout as sleep } from 'node:timers/promises';
import { CLIENT_FIELD } from '../contestants/contestant.js';
import type { Round } from '../measure/statistics.js';
import { valkeyCosts } from '../measure/valkey-costs.js';
import type { Column } from '../report/result.js';
import { figure, tableOf, target } from '../report/tables.js';
import { byId, contender, type Server, startServers } from './contender.js';
import type { Bench, Group } from './group.js';
import { CONNECTIONS } from './requests.js';

const OTHERS_EVERY_MS = 500;
/** In the attack's first second, whoever has to be asked first has been. */
const FIRST_MS = 1_000;

const CONTENDERS = [
  contender('none/nest'),
  contender('ours/refuse', {}, '**this library**, Valkey'),
  contender('flexible/valkey-block'),
  contender('fastify/redis'),
  contender('throttler/redis'),
];

const COLUMNS: readonly Column[] = [
  { name: 'calmP99', label: 'others’ p99 without, ms', digits: 0 },
  { name: 'p99', label: 'with the attack, ms', digits: 0 },
  { name: 'times', label: '×', digits: 2 },
  { name: 'calmP50', label: 'p50 without, ms', digits: 0 },
  { name: 'p50', label: 'with, ms', digits: 0 },
  { name: 'attackPerSecond', label: 'attacker’s requests/s', digits: 0 },
  { name: 'scriptsPerSecond', label: 'script calls/s for the attacker', digits: 1 },
  { name: 'loadCpu', label: 'attacker, cores', digits: 2 },
];

export const attack: Group = {
  title: 'An attack on a log-in',
  how: [
    `\`POST /login\` hashes with scrypt; ${CONNECTIONS} connections of one client send as fast as they are answered, and two others a second log in beside it; 5 a minute are allowed to each`,
    'others’ p99 is of as many requests as there were: with 8 s it is the slowest of about 15, `--long` takes 20 s. Load process and application share the cores, so the attacker takes from the hashing what it takes in cores',
    'script calls are those after the first second, less one for each request of the others',
  ],
  async run(bench) {
    const setting = { valkey: bench.valkey.url, limit: 5, windowMs: 60_000 };
    const servers = await startServers(CONTENDERS, setting);
    try {
      const rounds = new Map<Server, Round[]>();
      for (const server of servers.running) {
        rounds.set(server, [await measure(bench, server)]);
        process.stderr.write('.');
      }
      process.stderr.write('\n');
      const table = tableOf({
        id: 'attack',
        title: 'One client sends all it can',
        columns: COLUMNS,
        contenders: CONTENDERS,
        rounds: byId(rounds),
        missing: servers.missing,
      });
      const ours = 'ours/refuse';
      return {
        tables: [table],
        targets: [
          target('Attack: others’ p99, × without it', figure(table, ours, 'times'), 'at most', 1.5),
          target(
            'Attack: Valkey calls for the attacker after the first second',
            figure(table, ours, 'scriptsPerSecond'),
            'at most',
            2,
            { digits: 1, unit: 'per second' },
          ),
        ],
      };
    } finally {
      await servers.stop();
    }
  },
};

async function measure({ load, valkey, long }: Bench, server: Server): Promise<Round> {
  const seconds = long ? 20 : 8;
  await others(server, 1_000, 'first');
  const calm = await others(server, seconds * 750, 'calm');
  const attacking = load.ask('load', {
    port: server.port,
    seconds,
    connections: CONNECTIONS,
    clients: ['attacker'],
    method: 'POST',
    path: '/login',
  });
  await sleep(FIRST_MS);
  const before = await valkeyCosts(valkey);
  const restMs = seconds * 1_000 - FIRST_MS;
  const attacked = await others(server, restMs, 'other');
  const after = await valkeyCosts(valkey);
  const { answered, seconds: took, cpuShare } = await attacking;
  const forOthers = before.scripts === after.scripts ? 0 : attacked.count;
  return {
    calmP50: calm.p50,
    calmP99: calm.p99,
    p50: attacked.p50,
    p99: attacked.p99,
    times: attacked.p99 / calm.p99,
    attackPerSecond: answered / took,
    scriptsPerSecond: (Math.max(0, after.scripts - before.scripts - forOthers) * 1_000) / restMs,
    loadCpu: cpuShare,
  };
}

/** Log-ins of others, each of another client, at a steady pace whatever becomes of those before. */
async function others({ port }: Server, milliseconds: number, name: string) {
  const waits: Promise<number>[] = [];
  for (const end = performance.now() + milliseconds; performance.now() < end;) {
    waits.push(logIn(port, `${name}-${waits.length}`));
    await sleep(OTHERS_EVERY_MS);
  }
  const sorted = (await Promise.all(waits)).toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  return { p50: at(0.5), p99: at(0.99), count: sorted.length };
}

async function logIn(port: number, client: string): Promise<number> {
  const began = performance.now();
  const response = await fetch(`http://127.0.0.1:${port}/login`, {
    method: 'POST',
    headers: { [CLIENT_FIELD]: client },
  });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`A log-in of another client was answered ${response.status}`);
  return performance.now() - began;
}
