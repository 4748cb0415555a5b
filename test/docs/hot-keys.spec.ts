import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { createRateLimiter, type RateLimiter } from 'nestjs-valkey-rate-limit';
import { ask } from '../../tools/ask-valkey.js';
import type { LocalValkey } from '../../tools/local-valkey.js';
import { ownValkey } from '../support/valkey.js';
import { policies } from './hot-keys/policies.js';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFile(new URL(path, root), 'utf8');

test('the example is the file that is run here', async () => {
  const page = await read('docs/hot-keys.md');
  const examples = [...page.matchAll(/^<!-- (\S+\.ts).*-->\n\n```ts\n([^]*?)^```$/gm)];
  expect(examples.map(([, path]) => path)).toEqual(['test/docs/hot-keys/policies.ts']);
  for (const [, path, text] of examples) expect(text).toBe(await read(path!));
});

const KEY = { key: 'everybody' };
const everybody = 'everybody' as never;

/** Long enough for everything that is asked here to be in one window. */
const hour = { ...policies, everybody: { ...policies.everybody, window: '1h' } } as const;

const limiterOf = (server: LocalValkey): Promise<RateLimiter> =>
  createRateLimiter({ valkey: server.url, policies: hour, deadline: '5s', onStoreFailure: 'closed' });

/** How often scripts have decided something: without the looks for limits that have been changed. */
async function callsOf(server: LocalValkey): Promise<number> {
  const stats = String(await ask(server, 'INFO', 'commandstats'));
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

test('of 24,000 from four limiters at once exactly the limit pass, and Valkey is asked rarely', async () => {
  const server = await ownValkey();
  const limiters = await Promise.all(Array.from({ length: 4 }, () => limiterOf(server)));
  const before = await callsOf(server);
  let [allowed, denied] = [0, 0];
  // What is left over near the end is given back, so some who were denied would have passed later: so they go on asking.
  const spend = async (limiter: RateLimiter) => {
    for (let round = 0; round < 60; round += 1) {
      const asked = Array.from({ length: 100 }, () => limiter.consume(everybody, KEY));
      for (const { outcome } of await Promise.all(asked)) {
        if (outcome === 'allowed') allowed += 1;
        else if (outcome === 'denied') denied += 1;
        else throw new Error(outcome);
      }
    }
  };
  await Promise.all(limiters.map(spend));
  expect((await callsOf(server)) - before).toBeLessThan(24_000 / 5);
  expect(allowed).toBeLessThanOrEqual(20_000);
  expect(denied).toBeGreaterThan(0);
  // What is left of slices comes back, and then it is exactly the limit.
  await Promise.all(limiters.map((limiter) => limiter.close()));
  const last = await limiterOf(server);
  const left = await last.peek(everybody, KEY);
  expect(left).toMatchObject({ outcome: 'allowed', remaining: 20_000 - allowed });
  const [rest, more] = [
    await last.consume(everybody, { ...KEY, cost: 20_000 - allowed }),
    await last.consume(everybody, KEY),
  ];
  expect([rest.outcome, more.outcome]).toEqual(['allowed', 'denied']);
  await last.close();
});

test('a refund of what was spent of a slice, a reset, and what is idle', async () => {
  const server = await ownValkey();
  const limiter = await limiterOf(server);
  for (let count = 0; count < 300; count += 1) await limiter.consume(everybody, KEY);
  const decision = await limiter.consume(everybody, KEY);
  await limiter.refund(everybody, { ...KEY, ...decision } as never);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(await limiter.peek(everybody, KEY)).toMatchObject({ remaining: 20_000 - 300 });
  for (let count = 0; count < 300; count += 1) await limiter.consume(everybody, KEY);
  await limiter.reset(everybody, KEY);
  expect(await limiter.peek(everybody, KEY)).toMatchObject({ remaining: 20_000 });
  await limiter.close();
});

test.each([
  ['sliding-log', { limit: 5, window: '1m' }, 'counts the moment of each request'],
  ['sliding-counter', { limit: 5, window: '1m' }, 'counts the moment of each request'],
  ['leaky-bucket', { limit: 5, window: '1m' }, 'its turn'],
  ['concurrency', { limit: 5, lease: '1m' }, 'holds places'],
])('%s refuses to be sliced, and says why', async (algorithm, numbers, why) => {
  const sliced = { algorithm, ...numbers, slice: { share: 0.1 } };
  const refused = createRateLimiter({ policies: { sliced } as never });
  await expect(refused).rejects.toMatchObject({ code: 'NO_SLICES', where: 'policy "sliced"' });
  await expect(refused).rejects.toThrow(why);
});

test.each([
  [{ share: 0 }, 'INVALID_SHARE'],
  [{ share: 0.6 }, 'INVALID_SHARE'],
  [{ share: '0.1' }, 'INVALID_SHARE'],
  [{}, 'INVALID_SHARE'],
  [{ share: 0.1, for: '2s' }, 'INVALID_FOR'],
  [{ share: 0.1, for: 0 }, 'INVALID_FOR'],
  [{ share: 0.1, size: 5 }, 'UNKNOWN_OPTION'],
  [true, 'OPTIONS'],
])('%p is refused at boot', async (slice, code) => {
  const sliced = { algorithm: 'fixed-window', limit: 5, window: '1m', slice };
  await expect(createRateLimiter({ policies: { sliced } as never })).rejects.toMatchObject({ code });
});
