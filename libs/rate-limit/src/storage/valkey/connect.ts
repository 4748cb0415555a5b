import { useClient } from './application-client.js';
import { connectCluster } from './cluster.js';
import type { Connection } from './connection.js';
import { connectBySentinel, connectServer } from './own-client.js';
import { readTarget } from './target.js';

/**
 * A connection of our own, or the client that the application has.
 *
 * @param deadlineMs the longest that anybody waits for an answer
 * @param warn told what can be better about the application's client
 * @throws {RateLimitConfigError} for what is no Valkey
 */
export function connect(written: unknown, deadlineMs: number, warn: (line: string) => void): Connection {
  const target = readTarget(written);
  switch (target.kind) {
    case 'client':
      return useClient(target.client, warn);
    case 'server':
      return connectServer(target.server, target.tls, deadlineMs);
    case 'cluster':
      return connectCluster(target.nodes, target.tls, deadlineMs);
    case 'sentinel':
      return connectBySentinel(target.sentinels, target.primary, target.tls, deadlineMs);
  }
}
