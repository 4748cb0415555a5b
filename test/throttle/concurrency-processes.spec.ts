import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from '@jest/globals';
import { until } from '../../tools/until.js';
import { lookInto } from '../support/client.js';
import { ownValkey } from '../support/valkey.js';
import { end, startProcess } from '../support/processes.js';

const WORKER = fileURLToPath(new URL('worker.mjs', import.meta.url));
const LIMIT = 6;
const LEASE_MS = 1_500;
const PROCESSES = 3;
/** More than there are places, also when one process is gone. */
const CLIENTS_OF_EACH = 4;
/** How long work takes: one client's longer than a lease, so that it is renewed. */
const WORK_MS = [2_000, 90, 150, 240] as const;
/** How often whoever was refused asks again. */
const AGAIN_MS = 25;
/** For a machine that is busy. */
const SLACK_MS = 500;

/** What a worker tells. */
interface Told {
  readonly pid: number;
  /** By the clock of the machine, which is also Valkey's. */
  readonly at: number;
  readonly lease?: string;
  readonly begun?: string;
  readonly ended?: string;
}

/** In which time a place was in use. */
interface Use {
  readonly pid: number;
  readonly from: number;
  to: number;
}

const ends: (() => unknown)[] = [];

afterEach(() => Promise.all(ends.splice(0).map((each) => each())));

/** Counts work as it begins and ends, and knows whose each lease is. */
async function startCounter() {
  const uses = new Map<string, Use>();
  const owners = new Map<string, number>();
  const server = createServer(async (request, response) => {
    const { pid, at, lease, begun, ended } = (await json(request)) as Told;
    if (lease !== undefined) owners.set(lease, pid);
    if (begun !== undefined) uses.set(begun, { pid, from: at, to: Infinity });
    if (ended !== undefined) uses.get(ended)!.to = at;
    response.end();
  });
  ends.push(() => {
    server.close();
    server.closeAllConnections();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const running = (pid?: number) =>
    [...uses.values()].filter((use) => use.to === Infinity && (pid === undefined || use.pid === pid)).length;
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, uses, owners, running };
}

/** The most places that were in use at once, and when all of them first were after a time. */
function count(uses: readonly Use[], after: number): { most: number; fullAgainAt: number } {
  // What ends in the same millisecond in which another begins has ended before it.
  const changes = uses.flatMap(({ from, to }) => [
    { at: from, by: 1 },
    { at: to, by: -1 },
  ]);
  changes.sort((one, other) => one.at - other.at || one.by - other.by);
  let [inUse, most, fullAgainAt] = [0, 0, Infinity];
  for (const { at, by } of changes) {
    inUse += by;
    most = Math.max(most, inUse);
    if (inUse === LIMIT && at >= after) fullAgainAt = Math.min(fullAgainAt, at);
  }
  return { most, fullAgainAt };
}

test('three processes share places, and those of one that is killed come back when their lease ends', async () => {
  const [counter, { url: valkey }] = [await startCounter(), await ownValkey()];
  const client = lookInto(valkey);
  const args = [valkey, String(LIMIT), `${LEASE_MS}ms`, counter.url];
  const processes = await Promise.all(Array.from({ length: PROCESSES }, () => startProcess(WORKER, args)));

  const load = { isOver: false };
  const statuses = new Set<number>();
  const ask = async (url: string, milliseconds: number) => {
    while (!load.isOver) {
      const response = await fetch(`${url}/work?for=${milliseconds}`).catch(() => undefined);
      if (response === undefined) return; // it was killed
      await response.arrayBuffer();
      statuses.add(response.status);
      if (response.status !== 200) await sleep(AGAIN_MS);
    }
  };
  const clients = processes.flatMap(({ url }) =>
    Array.from({ length: CLIENTS_OF_EACH }, (_, index) => ask(url, WORK_MS[index]!)),
  );

  const [victim] = processes;
  const pid = victim!.child.pid!;
  await sleep(LEASE_MS); // long enough for work to be older than a lease without renewal
  await until('all places are held, some by the one that is killed', () => {
    return counter.running() === LIMIT && counter.running(pid) > 1;
  });
  await end(victim!.child);
  const killedAt = Date.now();
  const [key] = await client.keys('*:c');
  const places = await client.zrange(key!, 0, -1, 'WITHSCORES');

  await sleep(LEASE_MS + SLACK_MS);
  load.isOver = true;
  await Promise.all(clients);

  const worked = [...counter.uses.values()];
  for (const use of worked) {
    // What it had under way holds its places until their leases end, and those are counted now.
    if (use.pid === pid && use.to === Infinity) use.to = killedAt;
  }
  const held: Use[] = [];
  for (let index = 0; index < places.length; index += 2) {
    const [lease] = places[index]!.split(':');
    if (counter.owners.get(lease!) === pid) held.push({ pid, from: killedAt, to: Number(places[index + 1]) });
  }
  expect(held.length).toBeGreaterThan(0);
  const lastEnd = Math.max(...held.map(({ to }) => to));
  expect(lastEnd).toBeLessThanOrEqual(killedAt + LEASE_MS);

  const { most, fullAgainAt } = count([...worked, ...held], lastEnd);
  expect(most).toBe(LIMIT);
  expect(fullAgainAt).toBeLessThanOrEqual(killedAt + LEASE_MS + SLACK_MS);
  expect(worked.some(({ from, to }) => to - from > LEASE_MS)).toBe(true);
  expect([...statuses]).toEqual(expect.arrayContaining([200, 429]));
  await until('all are free', async () => (await client.zcard(key!)) === 0);
});
