import { ask, askAll } from './ask-valkey.js';
import { type LocalValkey, type LocalValkeyOptions, startValkeys } from './local-valkey.js';
import { until } from './until.js';

export interface LocalSentinelOptions {
  /** 3 unless said otherwise. More than half of them must agree on a failover. */
  readonly sentinels?: number;
  /** 1 unless said otherwise. */
  readonly replicas?: number;
  /** How long the primary may be silent before a sentinel calls it down: 1,000 unless said otherwise. */
  readonly downAfterMs?: number;
  /** Options of the primary and the replicas, after ours. */
  readonly args?: readonly string[];
}

export interface LocalSentinels {
  /** What the sentinels call the group of the primary and its replicas. */
  readonly name: string;
  /** Of the sentinels. */
  readonly urls: readonly string[];
  /** At the start: a failover changes it. */
  readonly primary: LocalValkey;
  readonly replicas: readonly LocalValkey[];
  readonly sentinels: readonly LocalValkey[];
  /** The primary by the newest that the sentinels that answer know. */
  currentPrimary(): Promise<LocalValkey>;
  /** Ends the sentinels and the servers. May be called again. */
  stop(): Promise<void>;
}

const NAME = 'group';
const HOST = '127.0.0.1';
/** After a failover that came to nothing, the next one is tried after twice this. */
const FAILOVER_TIMEOUT_MS = 5_000;

/** Starts a primary, its replicas and their sentinels, and waits until every sentinel knows all of them. */
export async function startSentinels(options: LocalSentinelOptions = {}): Promise<LocalSentinels> {
  const { sentinels = 3, replicas = 1, downAfterMs = 1_000 } = options;
  const args = ['--repl-diskless-sync-delay', '0', ...(options.args ?? [])]; // it would wait 5 s for more replicas
  const started: LocalValkey[] = [];
  const stop = async () => void (await Promise.all(started.map((server) => server.stop())));
  const start = async (count: number, each: LocalValkeyOptions) => {
    const servers = await startValkeys(Array.from({ length: count }, () => each));
    started.push(...servers);
    return servers;
  };
  try {
    const [primary] = (await start(1, { args })) as [LocalValkey];
    const copies = await start(replicas, { args: ['--replicaof', `${HOST} ${primary.port}`, ...args] });
    // Replicas that come later, a sentinel hears of only every 10 s.
    await until('the replicas have copied the primary', () => every(copies, isSynced));
    const config = configOf(primary, Math.floor(sentinels / 2) + 1, downAfterMs);
    const watchers = await start(sentinels, { config, args: ['--sentinel'] });
    await until('every sentinel knows all servers', () =>
      every(watchers, (sentinel) => knows(sentinel, replicas, sentinels - 1)),
    );
    return {
      name: NAME,
      urls: watchers.map(({ url }) => url),
      primary,
      replicas: copies,
      sentinels: watchers,
      currentPrimary: () => currentPrimary(watchers, [primary, ...copies]),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function configOf(primary: LocalValkey, quorum: number, downAfterMs: number): string {
  return [
    `sentinel monitor ${NAME} ${HOST} ${primary.port} ${quorum}`,
    `sentinel down-after-milliseconds ${NAME} ${downAfterMs}`,
    `sentinel failover-timeout ${NAME} ${FAILOVER_TIMEOUT_MS}`,
    '',
  ].join('\n');
}

async function isSynced(replica: LocalValkey): Promise<boolean> {
  return String(await ask(replica, 'INFO', 'replication')).includes('master_link_status:up');
}

/** Whether a sentinel knows so many servers of each kind, and is connected to all of them. */
async function knows(sentinel: LocalValkey, replicas: number, others: number): Promise<boolean> {
  const answers = await askAll(sentinel, [
    ['SENTINEL', 'MASTERS'],
    ['SENTINEL', 'REPLICAS', NAME],
    ['SENTINEL', 'SENTINELS', NAME],
  ]);
  const flags = (answers as unknown[][]).flat().map((each) => fieldsOf(each)['flags']);
  // A server that is down, or not connected yet, has further flags.
  const count = (kind: string) => flags.filter((each) => each === kind).length;
  return count('master') === 1 && count('slave') === replicas && count('sentinel') === others;
}

async function currentPrimary(
  sentinels: readonly LocalValkey[],
  servers: readonly LocalValkey[],
): Promise<LocalValkey> {
  const answers = await Promise.allSettled(sentinels.map((each) => ask(each, 'SENTINEL', 'MASTER', NAME)));
  const known = answers.flatMap((each) => (each.status === 'fulfilled' ? [fieldsOf(each.value)] : []));
  // While a failover spreads they differ, and the newest epoch is the one that all of them will come to.
  const [newest] = known.toSorted((a, b) => Number(b['config-epoch']) - Number(a['config-epoch']));
  const primary = servers.find(({ port }) => String(port) === newest?.['port']);
  if (!primary)
    throw new Error(
      `Of ${sentinels.length} sentinels ${known.length} answer, with the primary ${newest?.['port'] ?? 'unknown'}.`,
    );
  return primary;
}

/** A sentinel describes by names and values in turn. */
function fieldsOf(description: unknown): Record<string, string | undefined> {
  const words = description as string[];
  return Object.fromEntries(words.flatMap((word, i) => (i % 2 === 0 ? [[word, words[i + 1]]] : [])));
}

async function every<T>(items: readonly T[], check: (item: T) => Promise<boolean>): Promise<boolean> {
  return (await Promise.all(items.map(check))).every(Boolean);
}
