import { ask, askAll, type Command } from './ask-valkey.js';
import { type LocalValkey, type LocalValkeyOptions, startValkeys } from './local-valkey.js';
import { until } from './until.js';

export interface LocalClusterOptions {
  /** 3 unless said otherwise, the fewest that can agree on a failover. */
  readonly primaries?: number;
  /** Of each primary; none unless said otherwise. */
  readonly replicas?: number;
  /** Options of every node after ours, so that they win. */
  readonly args?: readonly string[];
  /** How long a node may be silent before the others call it failed: 2,000 unless said otherwise. */
  readonly nodeTimeoutMs?: number;
}

export interface ClusterNode {
  readonly server: LocalValkey;
  readonly id: string;
  /** At the start: a failover changes it. */
  readonly role: 'primary' | 'replica';
}

export interface LocalCluster {
  /** The primaries in the order of their slots, then the replicas: of the first primary, of the second, ... */
  readonly nodes: readonly ClusterNode[];
  /** Of those that were primaries at the start. */
  readonly urls: readonly string[];
  /**
   * Moves slots with their keys, live, and waits until every node that answers knows it. `halfway` is called when the
   * slots are between the nodes, with half of each one's keys (rounded up) moved. What it throws is thrown, and leaves
   * the slots there.
   */
  moveSlots(
    slots: readonly number[],
    from: ClusterNode,
    to: ClusterNode,
    halfway?: () => unknown,
  ): Promise<void>;
  /** The node that says that it serves a slot now. */
  ownerOf(slot: number): Promise<ClusterNode>;
  /** Ends all nodes. May be called again. */
  stop(): Promise<void>;
}

const SLOTS = 16_384;
const MIGRATE_LIMIT_MS = 1_000;
/** How many keys MIGRATE takes at once. */
const BATCH = 100;

/** Starts the nodes of a cluster, makes them one, and waits until all of them agree that it is up. */
export async function startCluster(options: LocalClusterOptions = {}): Promise<LocalCluster> {
  const { primaries = 3, replicas = 0 } = options;
  const count = primaries * (1 + replicas);
  const servers = await startValkeys(Array.from({ length: count }, () => nodeOptions(options)));
  const stop = async () => void (await Promise.all(servers.map((server) => server.stop())));
  try {
    const ids = await Promise.all(servers.map((server) => ask(server, 'CLUSTER', 'MYID')));
    const nodes = servers.map((server, i): ClusterNode => {
      return { server, id: String(ids[i]), role: i < primaries ? 'primary' : 'replica' };
    });
    await form(nodes, primaries, replicas);
    return {
      nodes,
      urls: servers.slice(0, primaries).map(({ url }) => url),
      moveSlots: (slots, from, to, halfway) => moveSlots(nodes, slots, from, to, halfway),
      ownerOf: (slot) => ownerOf(nodes, slot),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function nodeOptions({ args = [], nodeTimeoutMs = 2_000 }: LocalClusterOptions): LocalValkeyOptions {
  const cluster = ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf'];
  // A node learns its own address only from another one, and a single one never does.
  const address = ['--cluster-announce-ip', '127.0.0.1'];
  const timeout = ['--cluster-node-timeout', String(nodeTimeoutMs)];
  const partial = ['--cluster-require-full-coverage', 'no']; // a dead primary stops only its own slots
  const atOnce = ['--repl-diskless-sync-delay', '0']; // it would wait 5 s for more replicas
  return { args: [...cluster, ...address, ...timeout, ...partial, ...atOnce, ...args] };
}

async function form(nodes: readonly ClusterNode[], primaries: number, replicas: number): Promise<void> {
  await each(nodes, async ({ server }, i) => {
    // Epochs that differ from the start need not be sorted out among the nodes.
    await ask(server, 'CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
    if (i < primaries) await ask(server, 'CLUSTER', 'ADDSLOTSRANGE', ...share(i, primaries));
    // Everyone meets everyone: news that spread by gossip alone take longer.
    const others = nodes.filter((_, other) => other !== i);
    const meet = others.map((other): Command => ['CLUSTER', 'MEET', '127.0.0.1', other.server.port]);
    await askAll(server, meet);
  });
  await until('every node knows all the others', async () => {
    const views = await each(nodes, viewOf);
    return views.every((view) => nodes.every(({ id }) => view.some((line) => line.startsWith(id))));
  });
  await each(nodes.slice(primaries), ({ server }, i) =>
    ask(server, 'CLUSTER', 'REPLICATE', nodes[Math.floor(i / replicas)]!.id),
  );
  await until('all nodes agree that the cluster is up', () => isUp(nodes));
}

/** First and last slot of a primary. */
function share(index: number, primaries: number): [number, number] {
  const start = (i: number) => Math.floor((i * SLOTS) / primaries);
  return [start(index), start(index + 1) - 1];
}

async function isUp(nodes: readonly ClusterNode[]): Promise<boolean> {
  const views = await each(nodes, async (node) => (await viewOf(node)).join('\n').replace('myself,', ''));
  if (new Set(views).size !== 1 || /handshake|disconnected/.test(views[0]!)) return false;
  const up = await each(nodes, async ({ server, role }) => {
    const [cluster, replication] = await askAll(server, [
      ['CLUSTER', 'INFO'],
      ['INFO', 'replication'],
    ]);
    const synced = role === 'primary' || String(replication).includes('master_link_status:up');
    return synced && String(cluster).includes('cluster_state:ok');
  });
  return up.every(Boolean);
}

/** The lines of CLUSTER NODES, sorted and without addresses and times: id, flags, primary, epoch, link, slots. */
async function viewOf({ server }: ClusterNode): Promise<string[]> {
  const text = String(await ask(server, 'CLUSTER', 'NODES'));
  const lines = text.trim().split('\n');
  return lines.map((line) => line.replace(/^(\S+) \S+ (\S+ \S+) \S+ \S+/, '$1 $2')).toSorted();
}

/** The views of the nodes that answer: a test may have harmed the others. */
async function livingViews(nodes: readonly ClusterNode[]): Promise<string[][]> {
  const views = await Promise.allSettled(nodes.map(viewOf));
  return views.flatMap((view) => (view.status === 'fulfilled' ? [view.value] : []));
}

/** Whether a line of a view gives the slot to its node. `[1->-id]`, a slot on its way, does not count. */
function serves(line: string, slot: number): boolean {
  const [, , , , , ...ranges] = line.split(' ');
  return ranges.some((range) => {
    const [first = NaN, last = first] = range.split('-').map(Number);
    return first <= slot && slot <= last;
  });
}

function epochOf(line: string): number {
  return Number(line.split(' ')[3]);
}

async function ownerOf(nodes: readonly ClusterNode[], slot: number): Promise<ClusterNode> {
  const views = await livingViews(nodes);
  const claims = views.flat().filter((line) => line.includes(' myself,') && serves(line, slot));
  // One that was away may still claim what it has lost; the newest claim is the one that counts.
  const [newest] = claims.toSorted((a, b) => epochOf(b) - epochOf(a));
  const owner = nodes.find(({ id }) => newest?.startsWith(id));
  if (!owner)
    throw new Error(`Of ${nodes.length} nodes ${views.length} answer, and none of them serves slot ${slot}.`);
  return owner;
}

async function moveSlots(
  nodes: readonly ClusterNode[],
  slots: readonly number[],
  from: ClusterNode,
  to: ClusterNode,
  halfway?: () => unknown,
): Promise<void> {
  const set = (node: ClusterNode, state: 'IMPORTING' | 'MIGRATING' | 'NODE', id: string) =>
    askAll(
      node.server,
      slots.map((slot): Command => ['CLUSTER', 'SETSLOT', slot, state, id]),
    );
  await set(to, 'IMPORTING', from.id);
  await set(from, 'MIGRATING', to.id);
  const count = slots.map((slot): Command => ['CLUSTER', 'COUNTKEYSINSLOT', slot]);
  const counts = await askAll(from.server, count);
  for (const [i, slot] of slots.entries()) await migrate(slot, from, to, Math.ceil(Number(counts[i]) / 2));
  await halfway?.();
  for (const slot of slots) await migrate(slot, from, to, Infinity);
  // The new owner first: until it knows, the old one must go on sending clients to it.
  await set(to, 'NODE', to.id);
  await set(from, 'NODE', to.id);
  await until(`every node that answers knows the new owner of ${slots.length} slots`, async () => {
    const owned = (await livingViews(nodes)).map((view) => view.find((line) => line.startsWith(to.id)) ?? '');
    return owned.length > 0 && slots.every((slot) => owned.every((line) => serves(line, slot)));
  });
}

async function migrate(slot: number, from: ClusterNode, to: ClusterNode, most: number): Promise<void> {
  for (let left = most; left > 0; left -= BATCH) {
    const keys = await ask(from.server, 'CLUSTER', 'GETKEYSINSLOT', slot, Math.min(left, BATCH));
    const names = keys as string[];
    if (names.length === 0) return;
    const target = ['127.0.0.1', to.server.port, '', 0, MIGRATE_LIMIT_MS];
    await ask(from.server, 'MIGRATE', ...target, 'KEYS', ...names);
  }
}

function each<T, R>(items: readonly T[], run: (item: T, index: number) => Promise<R>): Promise<R[]> {
  return Promise.all(items.map(run));
}
