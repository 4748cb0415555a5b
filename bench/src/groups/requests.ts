import { setTimeout as sleep } from 'node:timers/promises';
import { whileRunning } from '../measure/valkey-costs.js';
import type { Round } from '../measure/statistics.js';
import type { Column } from '../report/result.js';
import type { Server } from './contender.js';
import type { Bench } from './group.js';

export const CONNECTIONS = 50;
/** What was under way when the load before ended is done by then, and counts for nobody. */
const SETTLE_MS = 40;

export const REQUEST_COLUMNS: readonly Column[] = [
  { name: 'perSecond', label: 'requests/s', digits: 0, ratioLabel: '× no limiter' },
  { name: 'cpu', label: 'Node CPU µs', digits: 1, ratioLabel: '×' },
  { name: 'valkeyCpu', label: 'Valkey CPU µs', digits: 1 },
  { name: 'scripts', label: 'script calls', digits: 3 },
  { name: 'commands', label: 'commands in all', digits: 2 },
  { name: 'p50', label: 'p50 ms', digits: 2 },
  { name: 'p99', label: 'p99 ms', digits: 2 },
  { name: 'loadCpu', label: 'load, cores', digits: 2 },
];

export const REQUESTS_HOW = [
  `${CONNECTIONS} connections of autocannon, in a process of its own, with requests that are put together before the first is sent; “load, cores” is the CPU that this process took: near 1 it would be what is measured`,
  'every contestant serves the same Nest application on Fastify, with one handler that answers a small JSON, from a process of its own; those that know no Nest are a guard or a plugin in it',
  'Node CPU is that of the server process, Valkey CPU what `INFO cpu` counts, script calls and commands (with those that scripts call) what `INFO commandstats` counts; all of them per request',
];

export interface RequestTask {
  readonly seconds: number;
  readonly clients: readonly string[];
  /** What every answer must be. Not looked at while warming up. */
  readonly status: number | undefined;
}

/** Sends requests for a while, and says what that took from everybody who takes part. */
export async function measureRequests(
  { load, valkey }: Bench,
  { child, port, label }: Server,
  { seconds, clients, status }: RequestTask,
): Promise<Round> {
  await sleep(SETTLE_MS);
  const cpuBefore = await child.ask('cpuMicros');
  const { result, spent } = await whileRunning(valkey, () =>
    load.ask('load', { port, seconds, connections: CONNECTIONS, clients }),
  );
  const cpu = (await child.ask('cpuMicros')) - cpuBefore;
  const { answered, statuses, failed } = result;
  if (status !== undefined && (failed > 0 || statuses[status] !== answered)) {
    throw new Error(`${label}: not all of it was ${status}: ${JSON.stringify({ statuses, failed })}`);
  }
  return {
    perSecond: answered / result.seconds,
    cpu: cpu / answered,
    valkeyCpu: spent.cpuMicros / answered,
    scripts: spent.scripts / answered,
    commands: spent.commands / answered,
    p50: result.p50,
    p99: result.p99,
    loadCpu: result.cpuShare,
  };
}

export function clientNames(count: number): readonly string[] {
  return Array.from({ length: count }, (_, client) => `client-${client}`);
}
