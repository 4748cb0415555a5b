import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import { createRateLimiter, type Decision, type RateLimiter } from 'nestjs-valkey-rate-limit';
import { type LocalCluster, startCluster } from '../../tools/local-cluster.js';
import { ask } from '../../tools/ask-valkey.js';
import { rightsOf } from '../support/guide.js';
import { until } from '../../tools/until.js';

jest.setTimeout(60_000);

/** The names of the sample's policies are registered for the whole program; these are others. */
const any = (name: string) => name as never;

const LIMIT = 20;
const policies = { log: { algorithm: 'sliding-log', limit: LIMIT, window: '1h' } } as const;
const slotOf = (client: string) => calculateSlot(`rl:{${client}}:log:sl`);

describe('a Cluster of three primaries, each with a replica', () => {
  let cluster: LocalCluster;
  let limiter: RateLimiter;

  beforeAll(async () => {
    cluster = await startCluster({ replicas: 1, nodeTimeoutMs: 1_000 });
  });
  afterEach(() => limiter.close());
  afterAll(() => cluster.stop());

  const open = async (password = '', deadline = 1_000) => {
    const nodes = cluster.urls.map((url) => url.replace('//', `//${password}`));
    limiter = await createRateLimiter({
      valkey: { cluster: nodes },
      policies,
      deadline,
      onStoreFailure: 'closed',
    });
  };
  const take = (client: string) => limiter.consume(any('log'), { key: client });
  /** A client whose key is kept by the node. */
  const clientOf = async (place: number, name: string) => {
    for (let count = 0; ; count += 1) {
      const client = `${name}-${count}`;
      if ((await cluster.ownerOf(slotOf(client))) === cluster.nodes[place]) return client;
    }
  };
  const grant = (rights: readonly string[]) => {
    const command = ['ACL', 'SETUSER', 'limiter', 'reset', ...rights] as const;
    return Promise.all(cluster.nodes.map(({ server }) => ask(server, ...command)));
  };
  const outcomes = (decisions: readonly Decision[]) => {
    const count = (outcome: string) => decisions.filter((decision) => decision.outcome === outcome).length;
    return { allowed: count('allowed'), denied: count('denied'), unavailable: count('unavailable') };
  };

  test('counts on while a slot moves from one to another, with no more rights than the guide names', async () => {
    const rights = [...(await rightsOf('limiter')), ...(await rightsOf('limiter-of-a-cluster'))];
    await grant(rights);
    await open('limiter:secret@');
    const [from, to] = cluster.nodes;
    const client = await clientOf(0, 'moving');
    const decisions: Decision[] = [];
    for (let count = 0; count < 5; count += 1) decisions.push(await take(client));
    await cluster.moveSlots([slotOf(client)], from!, to!, async () => {
      for (let count = 0; count < 5; count += 1) decisions.push(await take(client));
    });
    for (let count = 0; count < 15; count += 1) decisions.push(await take(client));
    expect(outcomes(decisions)).toEqual({ allowed: LIMIT, denied: 5, unavailable: 0 });
  });

  test('whose one primary is frozen: only the first decision there waits, and those elsewhere are made', async () => {
    await open('', 50);
    const frozen = await clientOf(1, 'frozen');
    const others = [await clientOf(0, 'beside'), await clientOf(2, 'beside')];
    for (const client of [frozen, ...others]) expect((await take(client)).outcome).toBe('allowed');
    cluster.nodes[1]!.server.kill('SIGSTOP');
    expect((await take(frozen)).outcome).toBe('unavailable');
    const begun = performance.now();
    for (let count = 0; count < 1_000; count += 1) await take(frozen);
    expect(performance.now() - begun).toBeLessThan(500);
    expect(outcomes(await Promise.all(others.map(take)))).toMatchObject({ allowed: 2 });
    cluster.nodes[1]!.server.kill('SIGCONT');
    await until('it decides again', async () => (await take(frozen)).outcome !== 'unavailable');
  });

  test('loses one primary: only its keys are not decided, and those neither when its replica is promoted', async () => {
    await open();
    const lost = await clientOf(2, 'lost');
    const others = [await clientOf(0, 'other'), await clientOf(1, 'other')];
    for (const client of [lost, ...others]) expect((await take(client)).outcome).toBe('allowed');
    cluster.nodes[2]!.server.kill('SIGKILL');
    expect((await take(lost)).outcome).toBe('unavailable');
    for (let round = 0; round < 20; round += 1) {
      for (const client of others) expect((await take(client)).outcome).not.toBe('unavailable');
      const begun = performance.now();
      await take(lost);
      expect(performance.now() - begun).toBeLessThan(500);
    }
    await until('a replica decides', async () => (await take(lost)).outcome !== 'unavailable');
    expect(outcomes(await Promise.all(Array.from({ length: 30 }, () => take(lost))))).toMatchObject({
      unavailable: 0,
    });
    expect((await take(lost)).outcome).toBe('denied');
  });
});
