import { randomInt } from 'node:crypto';
import { connect, findServer, keysOf, nameOf, type Redis, type Server } from './valkey/valkey.js';

export type Store = 'memory' | 'valkey';

/** Where an experiment runs. */
export interface Place {
  readonly store: Store;
  /** The server's name and version, or `memory`. */
  readonly server: string;
  /** What every key of this run begins with. */
  readonly prefix: string;
  close(): Promise<void>;
}

export interface ValkeyPlace extends Place {
  readonly client: Redis;
  /** For other processes. */
  readonly url: string;
}

/** What a result was obtained on, for the end of every table. */
export interface RunOn {
  readonly server: string;
  readonly node: string;
}

export function runOn({ server }: Place): RunOn {
  return { server, node: process.version };
}

export function openMemory(): Place {
  return { store: 'memory', server: 'memory', prefix: newPrefix(), close: () => Promise.resolve() };
}

/** @param url the server to use; left out: one of our own, which ends with the place */
export async function openValkey(url?: string): Promise<ValkeyPlace> {
  const server = await findServer(url);
  try {
    const client = await connect(server.url);
    const prefix = newPrefix();
    let closed: Promise<void> | undefined;
    const close = () => (closed ??= leave(server, client, prefix));
    return { store: 'valkey', server: await nameOf(client), prefix, url: server.url, client, close };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

export function hasValkey(place: Place): place is ValkeyPlace {
  return place.store === 'valkey';
}

/** Somebody else's server is left as it was found. */
async function leave(server: Server, client: Redis, prefix: string): Promise<void> {
  try {
    if (!server.isOurs) {
      const keys = await keysOf(client, prefix);
      if (keys.length > 0) await client.unlink(...keys);
    }
  } finally {
    client.disconnect();
    await server.stop();
  }
}

/** Ten characters, never the same for two runs: short, because the keys that are weighed have 24 in all. */
function newPrefix(): string {
  const run = randomInt(36 ** 5)
    .toString(36)
    .padStart(5, '0');
  return `lab:${run}:`;
}
