import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { startCluster, type LocalCluster } from '../../../../../tools/local-cluster.js';
import { attempt, toRule } from '../../../testing/asking.js';
import { MemoryStore } from '../memory/memory-store.js';
import type { Store } from '../store.js';
import { createValkey } from './index.js';

const START = 1_000_000_000_000;
const rules = [
  { algorithm: 'token-bucket', limit: 3, window: '10s' },
  { algorithm: 'leaky-bucket', limit: 4, window: '10s' },
  { algorithm: 'fixed-window', limit: 3, window: '10s' },
  { algorithm: 'sliding-log', limit: 4, window: '10s' },
  { algorithm: 'sliding-counter', limit: 5, window: '10s' },
  { algorithm: 'quota', limit: 6, period: 'day' },
  { algorithm: 'concurrency', limit: 3, lease: '10s' },
].map((options) => toRule(options as Parameters<typeof toRule>[0]));

describe('a Cluster', () => {
  let cluster: LocalCluster;
  let valkey: Store;
  let now = START;
  const clock = () => now;
  const deadlineMs = 5_000;

  beforeAll(async () => {
    cluster = await startCluster();
    const options = { deadlineMs, clock, prefix: 'rl:', warn: console.warn };
    valkey = createValkey({ cluster: cluster.urls }, options).store;
    await valkey.open();
  });
  afterAll(async () => {
    await valkey.close();
    await cluster.stop();
  });

  test('decides attempts of many shards all or nothing, and says what memory says', async () => {
    let run = 0;
    const asked = fc.record({
      rule: fc.nat(rules.length - 1),
      subject: fc.nat(3),
      cost: fc.nat(2),
      shadow: fc.boolean(),
    });
    const step = fc.record({ later: fc.nat(4_000), asked: fc.array(asked, { minLength: 1, maxLength: 4 }) });
    const property = fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40 }), async (steps) => {
      const memory = new MemoryStore(clock);
      now = START;
      run += 1;
      for (const [index, { later, asked: wanted }] of steps.entries()) {
        now += later;
        const attempts = wanted.map(({ rule, subject, cost, shadow }, place) => {
          const key = `cluster:{${run}-${subject}}:${place}:${rules[rule]!.id}`;
          return { ...attempt(rules[rule]!, key, cost, `lease-${index}-${place}`), shadow };
        });
        expect(await valkey.consume(attempts)).toEqual(memory.consume(attempts));
      }
    });
    await fc.assert(property, { numRuns: 30 });
  });

  test('names the shard of a key by the node that answers for it', async () => {
    const shards = new Set<string>();
    for (let subject = 0; subject < 100; subject += 1) shards.add(valkey.shardOf!(`rl:{${subject}}:api:fw`));
    expect(shards).toEqual(new Set(cluster.urls.map((url) => url.replace('valkey://', ''))));
  });
});
