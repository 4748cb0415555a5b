import { randomUUID } from 'node:crypto';
import { Redis } from 'iovalkey';
import { MemoryStore } from '../src/storage/memory/memory-store.js';
import type { Attempt, Store } from '../src/storage/store.js';
import { compileRule } from '../src/algorithms/index.js';
import { OptionReader } from '../src/decision/option-reader.js';
import { DenyCache } from '../src/limiter/deny-cache.js';
import { Slices } from '../src/limiter/slices.js';
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

/**
 * Valkey behind a deny cache, as the limiter has it, but without a cap. Of a request that is known to be denied the cache
 * says nothing of the other attempts; they are looked at here.
 */
export async function openDenyCached(): Promise<LawStore> {
  const inner = await openValkey();
  const cache = new DenyCache(Infinity, () => inner.now);
  const consume = async (attempts: readonly Attempt[]) => {
    const known = attempts.some(({ renew }) => renew) ? undefined : cache.find(attempts);
    if (known !== undefined) {
      const { verdicts } = await inner.consume(attempts.map((attempt) => ({ ...attempt, cost: 0 })));
      const told = verdicts.map((verdict, index) => known.verdicts[known.indexes.indexOf(index)] ?? verdict);
      return { at: known.at, verdicts: told };
    }
    const answer = await inner.consume(attempts);
    cache.remember(attempts, answer);
    for (const { key, cost, renew } of attempts) if (cost < 0 || renew) cache.forget(key);
    return answer;
  };
  const reset = async (key: string) => {
    await inner.reset(key);
    cache.forget(key);
  };
  // What is done to a key behind everybody's back is seen when the cap is over.
  const persist = async (key: string) => {
    await inner.persist(key);
    cache.forget(key);
  };
  return derive(inner, { consume, reset, persist });
}

/**
 * Valkey with slices, as one process of a limiter has it. Before it is looked at, something is given back, or the test
 * looks behind the curtain, everything that is left of slices is given back: the laws speak of what a store has counted,
 * and Valkey counts what was taken. What several processes do at the same time is in slices.spec.ts.
 */
export async function openSliced(): Promise<LawStore> {
  const inner = await openValkey();
  const policy = { slice: { share: 0.5, forMs: 1_000 } };
  const slices = new Slices({
    ask: (attempts) => inner.consume(attempts),
    giveBack: async (attempt) => inner.consume([attempt]),
    clock: () => inner.now,
  });
  const consume = async (attempts: readonly Attempt[]) => {
    for (const { key, cost } of attempts) if (cost < 0) slices.refunded(key, -cost);
    if (attempts.some(({ cost }) => cost <= 0)) await slices.close();
    const answer = await slices.decide(attempts.map((attempt) => ({ ...attempt, policy })));
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const settled =
    <Result>(act: (key: string) => Promise<Result>) =>
    async (key: string): Promise<Result> => {
      await slices.close();
      return act(key);
    };
  const reset = async (key: string) => {
    slices.forget(key);
    await inner.reset(key);
  };
  const close = async () => {
    await slices.close();
    await inner.close();
  };
  const [raw, ttl, persist] = [settled(inner.raw), settled(inner.ttl), settled(inner.persist)];
  return derive(inner, { consume, reset, close, raw, ttl, persist });
}

/** Valkey where each request travels together with those of others. */
export async function openBatched(): Promise<LawStore> {
  const inner = await openValkey();
  const company = ['sliding-log', 'token-bucket', 'fixed-window'].map((algorithm) =>
    compileRule(new OptionReader('company', { algorithm, limit: 3, window: '1s' })),
  );
  const consume = async (attempts: readonly Attempt[]) => {
    const ask = (rule: Attempt['rule']) => inner.consume([{ rule, key: inner.key(), cost: 4 }]);
    const before = company.map(ask);
    const answer = inner.consume(attempts);
    const after = company.map(ask);
    await Promise.all([...before, ...after]);
    return answer;
  };
  return derive(inner, { consume });
}

/** The same store in all but some of what it does; its clock is moved through either. */
function derive(inner: LawStore, changes: Partial<LawStore>): LawStore {
  return Object.setPrototypeOf(
    {
      ...changes,
      get now() {
        return inner.now;
      },
      set now(now: number) {
        inner.now = now;
      },
    },
    inner,
  ) as LawStore;
}
