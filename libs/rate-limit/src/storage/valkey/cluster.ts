import calculateSlot from 'cluster-key-slot';
import { Cluster, type Redis } from 'iovalkey';
import { type Address, showAddress } from './address.js';
import { type Connection, consequence, type ValkeyClient } from './connection.js';
import { bootWithin, CONNECT_TIMEOUT_MS } from './boot-within.js';
import { clientOptions, LONGEST_PAUSE_MS } from './own-client.js';
import type { TlsOptions } from './target.js';

/** A connection of our own to every primary of a Cluster. */
export function connectCluster(nodes: readonly Address[], tls: TlsOptions, deadlineMs: number): Connection {
  const [first] = nodes;
  let lastError: Error | undefined;
  const client = new Cluster(
    nodes.map(({ host, port }) => ({ host, port })),
    {
      lazyConnect: true,
      enableOfflineQueue: false,
      scaleReads: 'master',
      maxRedirections: 3,
      // What was sent to a node that is lost may have been counted, so it is not sent to another. What a node has refused
      // may be tried again, but only while somebody waits for it.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      retryDelayOnTryAgain: 5,
      slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
      clusterRetryStrategy: (attempt) => Math.min(50 * attempt, LONGEST_PAUSE_MS),
      redisOptions: { ...clientOptions(first!, deadlineMs), ...(first!.tls && { tls }) },
    },
  );
  client.on('+node', (node: Redis) => {
    // The client gives each node a queue for what is sent before it is connected. Later nothing may wait there.
    node.once('ready', () => (node.options.enableOfflineQueue = false));
    node.on('error', () => undefined); // one that is let go of may still fail, and nobody else listens
  });
  const note = (error: Error) => {
    if (consequence(error) === undefined) lastError = error;
  };
  let refreshedAt = -Infinity;
  const refresh = () => {
    const now = performance.now();
    if (client.status !== 'ready' || now - refreshedAt < LONGEST_PAUSE_MS) return;
    refreshedAt = now; // it takes a connection and milliseconds of this process, and the next failure comes soon
    client.refreshSlotsCache();
  };
  client.on('error', note);
  client.on('node error', (error: Error) => {
    note(error);
    refresh();
  });
  client.on('-node', refresh);
  client.on('refresh', () => (lastError = undefined));
  return {
    client,
    place: `Valkey Cluster at ${nodes.map(showAddress).join(', ')}`,
    shardOf: shardsOf(client),
    lastError: () => lastError,
    open: () => bootWithin(connectAll(client), () => lastError),
    close: () => client.disconnect(),
  };
}

/** To the Cluster, and then to every primary, so that the first decisions do not wait for it. */
async function connectAll(client: Cluster): Promise<void> {
  await client.connect();
  await Promise.all(client.nodes('master').map((node) => node.connect().catch(() => undefined)));
}

/** Which node answers for a key, for a client that knows its Cluster's slots. */
export function shardsOf(client: ValkeyClient): (key: string) => string {
  const cluster = client as { slots?: readonly (readonly string[] | undefined)[] };
  return (key) => cluster.slots?.[calculateSlot(key)]?.[0] ?? '';
}
