import { expect, test } from '@jest/globals';
import { MemoryOverrideTable } from '../storage/memory/memory-override-table.js';
import { MemoryStore } from '../storage/memory/memory-store.js';
import type { Store } from '../storage/store.js';
import { Engine } from './engine.js';
import { LimitOverrides } from './overrides.js';
import { compilePolicy } from './policy.js';

const policy = compilePolicy<never>(
  'api',
  'api',
  { algorithm: 'token-bucket', limit: 10, window: '1s' },
  'local',
);

test('a denial ends by the time at which the store decided, also if the process was held up after asking', async () => {
  let now = 1_000_000_000_000;
  const memory = new MemoryStore(() => now);
  // It decides as soon as it is asked; whoever asked goes on 30 ms later, and has the answer then.
  const store: Store = {
    name: 'valkey',
    place: 'elsewhere',
    open: () => undefined,
    close: () => undefined,
    reset: (key) => memory.reset(key),
    consume: (attempts) => {
      const answer = memory.consume(attempts);
      now += 30;
      return Promise.resolve(answer);
    },
  };
  const overrides = new LimitOverrides(new MemoryOverrideTable(), new Map(), () => now);
  const log = { warn: () => undefined, log: () => undefined };
  const engine = new Engine({
    store,
    overrides,
    prefix: 'rl:',
    instances: () => 1,
    log,
    denyCacheMs: 1_000,
    clock: () => now,
  });
  const take = async (cost: number) => {
    const [decision] = await engine.decide([engine.attempt({ policy, subject: 'ada' }, cost)!]);
    return decision!;
  };
  await take(10);
  const asked = now;
  const denied = await take(1);
  if (denied.outcome !== 'denied') throw new Error('it was allowed');
  now = asked + denied.retryAfterMs!;
  expect((await take(1)).outcome).toBe('allowed');
});
