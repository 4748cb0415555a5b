import { randomUUID } from 'node:crypto';
import { Redis } from 'iovalkey';
import { MemoryStore } from '../src/storage/memory/memory-store.js';
import type { Store } from '../src/storage/store.js';
import { createValkey } from '../src/storage/valkey/index.js';

/** When the laws begin: a round number of milliseconds since 1970. */
export const START = 1_000_000_000_000;

/** A store with a clock that the test moves, and a look behind the curtain. */
export interface LawStore extends Store {
  now: number;
  /** A key that nobody has used. */
  key(): string;
  /** The state as it is kept, with when it expires; `undefined` where that can't be seen. */
  raw(key: string): Promise<unknown>;
  /** Milliseconds until the key expires, at least; Infinity where that can't be seen. */
  ttl(key: string): Promise<number>;
  /** What the key weighs in Valkey, by MEMORY USAGE; 0 where that can't be seen. */
  bytes(key: string): Promise<number>;
  /** Whether the server is a Valkey, and not a Redis. */
  isValkey(): Promise<boolean>;
  /** Takes a key's expiry away. */
  persist(key: string): Promise<void>;
}

const run = randomUUID();
let keys = 0;

function nextKey(): string {
  keys += 1;
  return `law:${run}:${keys}`;
}

export function openMemory(): Promise<LawStore> {
  const store = new MemoryStore(() => opened.now);
  const opened: LawStore = {
    name: store.name,
    place: store.place,
    open: () => store.open(),
    consume: (attempts) => store.consume(attempts),
    reset: (key) => store.reset(key),
    close: () => store.close(),
    now: START,
    key: nextKey,
    raw: () => Promise.resolve(undefined),
    ttl: () => Promise.resolve(Infinity),
    bytes: () => Promise.resolve(0),
    isValkey: () => Promise.resolve(false),
    persist: () => Promise.resolve(),
  };
  return Promise.resolve(opened);
}

/** The Valkey of the test run. Its own connection, and one beside it to look. */
export async function openValkey(): Promise<LawStore> {
  const url = process.env['TEST_VALKEY_URL'];
  if (url === undefined) throw new Error('TEST_VALKEY_URL is not set: run the tests with "npm test".');
  const deadlineMs = 5_000;
  const client = new Redis(url);
  const options = { deadlineMs, clock: () => opened.now, prefix: 'rl:', warn: console.warn };
  const { store } = createValkey(url, options);
  const opened: LawStore = {
    name: store.name,
    place: store.place,
    open: () => store.open(),
    consume: (attempts) => store.consume(attempts),
    reset: (key) => store.reset(key),
    close: async () => {
      await store.close();
      await client.quit();
    },
    now: START,
    key: nextKey,
    raw: async (key) => [await client.dumpBuffer(key), await client.pexpiretime(key)],
    ttl: (key) => client.pttl(key),
    bytes: async (key) => (await client.memory('USAGE', key)) ?? 0,
    isValkey: async () => (await client.info('server')).includes('valkey_version'),
    persist: async (key) => void (await client.persist(key)),
  };
  await store.open();
  return opened;
}
