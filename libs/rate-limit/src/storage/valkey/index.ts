import type { Clock } from '../../decision/clock.js';
import type { OverrideTable } from '../override-table.js';
import type { SketchTable } from '../sketch-table.js';
import type { Store } from '../store.js';
import { ClusterStore } from './cluster-store.js';
import { connect } from './connect.js';
import { inOneWrite } from './one-write.js';
import { Scripts } from './scripts.js';
import { ValkeyOverrideTable } from './valkey-override-table.js';
import { ValkeySketchTable } from './valkey-sketch-table.js';
import { ValkeyStore } from './valkey-store.js';

export interface ValkeyOptions {
  /** The longest to wait for an answer, in milliseconds. */
  readonly deadlineMs: number;
  /** What every key begins with. */
  readonly prefix: string;
  /** Left out: the server's clock, which all instances share. Tests and the lab hand one in. */
  readonly clock?: Clock;
  /** Told what can be better about the application's client. */
  readonly warn: (line: string) => void;
}

/**
 * What a module's `valkey` option means: where state is kept, numbers that were changed while running, and what processes
 * tell each other. Not connected yet.
 *
 * @throws {RateLimitConfigError} for what is no Valkey
 */
export function createValkey(
  valkey: unknown,
  { deadlineMs, prefix, clock, warn }: ValkeyOptions,
): { store: Store; overrides: OverrideTable; sketches: SketchTable } {
  const connection = connect(valkey, deadlineMs, warn);
  const scripts = new Scripts(connection, deadlineMs);
  const store = new ValkeyStore(connection, scripts, clock);
  return {
    store:
      connection.shardOf === undefined
        ? store
        : new ClusterStore(store, deadlineMs, (send) => inOneWrite(connection.client, send)),
    // No key of a client is like it: those have their subject in braces.
    overrides: new ValkeyOverrideTable(scripts, `${prefix}overrides`),
    sketches: new ValkeySketchTable(scripts, `${prefix}top:`),
  };
}
