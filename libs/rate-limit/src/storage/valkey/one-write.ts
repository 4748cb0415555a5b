import type { ValkeyClient } from './connection.js';

/** What collects the writes to a node. The client does not document it, so it may be missing. */
interface Writer {
  cork?(): void;
  uncork?(): void;
}

/** A Cluster's client, as iovalkey and ioredis have it. */
interface Nodes {
  nodes?(role: 'master'): readonly { readonly stream?: Writer }[];
}

/** What is sent meanwhile goes to each primary in one write, where the client lets us. What `send` throws is thrown. */
export function inOneWrite(client: ValkeyClient, send: () => void): void {
  const primaries = (client as Nodes).nodes?.('master') ?? [];
  // Looked up once: a node may get another connection meanwhile, and what was corked must be uncorked.
  const writers = primaries.map(({ stream }) => stream);
  for (const writer of writers) writer?.cork?.();
  try {
    send();
  } finally {
    for (const writer of writers) writer?.uncork?.();
  }
}
