import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'iovalkey';
import { ask } from './ask-valkey.js';
import { type LocalSentinels, startSentinels } from './local-sentinel.js';
import { until } from './until.js';
import type { LocalValkey } from './local-valkey.js';

function isRunning({ pid }: LocalValkey): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('local sentinels', () => {
  let group: LocalSentinels;

  beforeAll(async () => {
    group = await startSentinels();
  });

  afterAll(() => group?.stop());

  test('know every server and one another as soon as they are there', async () => {
    const { sentinels, urls, name, primary, replicas } = group;
    expect(sentinels).toHaveLength(3);
    expect(urls).toEqual(sentinels.map(({ url }) => url));
    for (const sentinel of sentinels) {
      const address = await ask(sentinel, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name);
      expect(address).toEqual(['127.0.0.1', String(primary.port)]);
      expect(await ask(sentinel, 'SENTINEL', 'CKQUORUM', name)).toMatch(/^OK 3 usable Sentinels/);
      const [replica] = (await ask(sentinel, 'SENTINEL', 'REPLICAS', name)) as [string[]];
      expect(replica).toContain(`127.0.0.1:${replicas[0]!.port}`);
    }
  });

  test('lead a client to the primary, and to its successor', async () => {
    expect(await group.currentPrimary()).toBe(group.primary);
    const client = new Redis({
      name: group.name,
      sentinels: group.sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
    });
    client.on('error', () => {}); // the primary is killed
    try {
      await client.set('kept', 'yes');
      expect(await client.wait(1, 900)).toBe(1);
      group.primary.kill('SIGKILL');
      await until('the replica is the primary', async () => (await group.currentPrimary()) !== group.primary);
      expect(await group.currentPrimary()).toBe(group.replicas[0]);
      expect(await client.get('kept')).toBe('yes');
      expect(await client.set('kept', 'still')).toBe('OK');
    } finally {
      client.disconnect();
    }
  });
});

test('a sentinel alone ends with its servers, and may be asked to twice', async () => {
  const group = await startSentinels({ sentinels: 1, replicas: 2, args: ['--maxmemory', '4mb'] });
  const servers = [group.primary, ...group.replicas, ...group.sentinels];
  try {
    expect(await ask(group.primary, 'CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', '4194304']);
    expect(servers.map(isRunning)).toEqual([true, true, true, true]);
  } finally {
    await group.stop();
  }
  expect(servers.map(isRunning)).toEqual([false, false, false, false]);
  await group.stop();
  await expect(group.currentPrimary()).rejects.toThrow('Of 1 sentinels 0 answer');
});
