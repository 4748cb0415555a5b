import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'iovalkey';
import { type ClusterNode, type LocalCluster, startCluster } from './local-cluster.js';
import { ask } from './ask-valkey.js';
import { until } from './until.js';

/** `{x}` lies in slot 16287, of the last primary; `{b}` in 3300, of the first. */
const SLOT_OF_X = 16_287;
const SLOT_OF_B = 3_300;

function isRunning({ server }: ClusterNode): boolean {
  try {
    return process.kill(server.pid, 0);
  } catch {
    return false;
  }
}

describe('a local cluster', () => {
  let cluster: LocalCluster;
  let first: ClusterNode;
  let last: ClusterNode;

  beforeAll(async () => {
    cluster = await startCluster();
    [first, , last] = cluster.nodes as [ClusterNode, ClusterNode, ClusterNode];
  });

  afterAll(() => cluster?.stop());

  test('is up on every node as soon as it is there', async () => {
    expect(cluster.nodes.map(({ role }) => role)).toEqual(['primary', 'primary', 'primary']);
    expect(cluster.urls).toEqual(cluster.nodes.map(({ server }) => server.url));
    for (const { server } of cluster.nodes) {
      const info = await ask(server, 'CLUSTER', 'INFO');
      expect(info).toMatch(/cluster_state:ok\r\ncluster_slots_assigned:16384\r\n/);
      expect(info).toContain('cluster_known_nodes:3\r\n');
    }
  });

  test('says where a slot is, and so do its nodes', async () => {
    expect(await ask(first.server, 'CLUSTER', 'KEYSLOT', '{x}')).toBe(SLOT_OF_X);
    expect(await cluster.ownerOf(SLOT_OF_X)).toBe(last);
    expect(await cluster.ownerOf(SLOT_OF_B)).toBe(first);
    await expect(ask(first.server, 'GET', '{x}')).rejects.toThrow(
      `MOVED ${SLOT_OF_X} 127.0.0.1:${last.server.port}`,
    );
  });

  test('moves a slot and its keys under the eyes of a client', async () => {
    const client = new Redis.Cluster([...cluster.urls]);
    try {
      for (const key of ['{x}1', '{x}2', '{x}3']) await client.set(key, 'kept');
      const moved: string[] = [];
      await cluster.moveSlots([SLOT_OF_X], last, first, async () => {
        moved.push(...((await ask(first.server, 'CLUSTER', 'GETKEYSINSLOT', SLOT_OF_X, 9)) as string[]));
        await expect(ask(last.server, 'GET', moved[0]!)).rejects.toThrow(
          `ASK ${SLOT_OF_X} 127.0.0.1:${first.server.port}`,
        );
        await expect(ask(last.server, 'MGET', '{x}1', '{x}2', '{x}3')).rejects.toThrow('TRYAGAIN');
        expect(await client.get(moved[0]!)).toBe('kept');
      });
      expect(moved).toHaveLength(2);
      expect(await cluster.ownerOf(SLOT_OF_X)).toBe(first);
      expect(await client.mget('{x}1', '{x}2', '{x}3')).toEqual(['kept', 'kept', 'kept']);
      expect(await ask(last.server, 'DBSIZE')).toBe(0);
    } finally {
      client.disconnect();
    }
  });

  test('moves many slots at once, and back', async () => {
    const slots = Array.from({ length: 100 }, (_, i) => SLOT_OF_B + i);
    await ask(first.server, 'SET', '{b}', 'kept');
    await cluster.moveSlots(slots, first, last);
    expect(await ask(last.server, 'GET', '{b}')).toBe('kept');
    expect(await cluster.ownerOf(SLOT_OF_B + 99)).toBe(last);
    await cluster.moveSlots(slots, last, first);
    expect(await cluster.ownerOf(SLOT_OF_B)).toBe(first);
  });
});

test('replicas hear of a slot that moves, serve when their primary dies, and end with the others', async () => {
  const cluster = await startCluster({ replicas: 1, nodeTimeoutMs: 1_000 });
  const [first, second, , replica] = cluster.nodes as [ClusterNode, ClusterNode, ClusterNode, ClusterNode];
  try {
    expect(replica.role).toBe('replica');
    await cluster.moveSlots([SLOT_OF_B + 1], first, second);
    await expect(ask(replica.server, 'GET', '{b}')).rejects.toThrow(`MOVED ${SLOT_OF_B} `);
    expect(String(await ask(replica.server, 'CLUSTER', 'NODES'))).toContain(`0-${SLOT_OF_B} `);

    await ask(first.server, 'SET', '{b}', 'kept');
    expect(await ask(first.server, 'WAIT', 1, 900)).toBe(1);
    first.server.kill('SIGKILL');
    await until('its replica serves', async () => (await cluster.ownerOf(SLOT_OF_B)) === replica);
    expect(await ask(replica.server, 'GET', '{b}')).toBe('kept');
  } finally {
    await cluster.stop();
  }
  expect(cluster.nodes.filter(isRunning)).toEqual([]);
  await cluster.stop();
});

test('an option that the nodes refuse: their words are in the error', async () => {
  await expect(startCluster({ args: ['--no-such-option', 'x'] })).rejects.toThrow('no-such-option');
});
