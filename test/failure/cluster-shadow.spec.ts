import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import calculateSlot from 'cluster-key-slot';
import { key, RateLimiter } from 'nestjs-valkey-rate-limit';
import { type LocalCluster, startCluster } from '../../tools/local-cluster.js';
import { Limit, startLittle, statuses } from '../support/little.js';

@Controller()
class Route {
  @Get()
  @Limit('counted', 'shadow')
  route(): string {
    return '';
  }
}

const one = { algorithm: 'fixed-window', limit: 3, window: '1h' } as const;
const policies = {
  counted: { ...one, key: key.header('x-counted'), onStoreFailure: 'closed' },
  shadow: { ...one, limit: 1, key: key.header('x-shadow'), mode: 'shadow', onStoreFailure: 'closed' },
} as const;

let cluster: LocalCluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster.stop());

/** A key that a node keeps. */
async function on(place: number, name: string): Promise<string> {
  for (let count = 0; ; count += 1) {
    const owner = await cluster.ownerOf(calculateSlot(`rl:{${name}-${count}}:x:fw`));
    if (owner === cluster.nodes[place]) return `${name}-${count}`;
  }
}

test('a policy in shadow whose shard is gone refuses nobody, and one whose shard answers takes what it would', async () => {
  const app = await startLittle('fastify', { valkey: { cluster: cluster.urls }, policies, deadline: '1s' }, [
    Route,
  ]);
  const counted = await on(0, 'counted');
  const near = { headers: { 'x-counted': counted, 'x-shadow': await on(1, 'near') } };
  const gone = { headers: { 'x-counted': await on(0, 'other'), 'x-shadow': await on(2, 'gone') } };
  const told: unknown[] = [];
  app.app.get(RateLimiter).decisions$.subscribe(({ policy, outcome, ...rest }) => {
    if ((policy as string) === 'shadow') told.push([outcome, Boolean((rest as { shadow?: unknown }).shadow)]);
  });
  expect(await statuses(app, '/', 4, near)).toEqual([200, 200, 200, 429]);
  await cluster.nodes[2]!.server.stop();
  expect(await statuses(app, '/', 4, gone)).toEqual([200, 200, 200, 429]);
  expect(told.slice(0, 5)).toEqual([
    ...Array.from({ length: 4 }, () => ['allowed', true]),
    ['unavailable', true],
  ]);
});
