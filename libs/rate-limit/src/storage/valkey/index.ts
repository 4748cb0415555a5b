import type { Store } from '../store.js';
import { ClusterStore } from './cluster-store.js';
import { connect } from './connect.js';
import { ValkeyStore, type ValkeyStoreOptions } from './valkey-store.js';

export interface OpenOptions extends ValkeyStoreOptions {
  /** Told what can be better about the application's client. */
  readonly warn: (line: string) => void;
}

/**
 * The store that a module's `valkey` option means. Not connected yet.
 *
 * @throws {RateLimitConfigError} for what is no Valkey
 */
export function createValkeyStore(valkey: unknown, { warn, ...options }: OpenOptions): Store {
  const connection = connect(valkey, options.deadlineMs, warn);
  const store = new ValkeyStore(connection, options);
  return connection.shardOf === undefined ? store : new ClusterStore(store, options.deadlineMs);
}
