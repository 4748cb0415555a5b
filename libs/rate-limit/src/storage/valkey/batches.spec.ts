import { randomUUID } from 'node:crypto';
import { Redis } from 'iovalkey';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { attempt, toRule } from '../../../testing/asking.js';
import { MemoryStore } from '../memory/memory-store.js';
import type { Store } from '../store.js';
import { Batches } from './batches.js';
import { createValkey } from './index.js';

const START = 1_000_000_000_000;
const rules = [
  { algorithm: 'token-bucket', limit: 3, window: '10s' },
  { algorithm: 'fixed-window', limit: 3, window: '10s' },
  { algorithm: 'sliding-log', limit: 4, window: '10s' },
  { algorithm: 'sliding-counter', limit: 5, window: '10s' },
  { algorithm: 'concurrency', limit: 3, lease: '10s' },
].map((options) => toRule(options as Parameters<typeof toRule>[0]));

describe('what is asked in one turn', () => {
  const url = process.env['TEST_VALKEY_URL']!;
  const run = randomUUID();
  let now = START;
  let valkey: Store;
  let admin: Redis;

  beforeAll(async () => {
    const options = { deadlineMs: 5_000, clock: () => now, prefix: 'rl:', warn: console.warn };
    valkey = createValkey(url, options).store;
    await valkey.open();
    admin = new Redis(url);
    // A script that the server does not know yet is sent again, behind what was asked with it.
    for (const rule of rules) await valkey.consume(one('warm', rule));
    await Promise.all([
      valkey.consume(one('warm')),
      valkey.consume(one('warm')),
      valkey.consume(one('warm')),
    ]);
  });
  afterAll(async () => {
    await valkey.close();
    admin.disconnect();
  });

  const calls = async () =>
    Number(/cmdstat_evalsha:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1] ?? 0);
  const one = (key: string, rule = rules[0]!) => [attempt(rule, `${run}:${key}:${rule.id}`, 1)];

  test('goes in two calls: the first at once, and the others together, at most 50 at a time', async () => {
    for (const [requests, expected] of [
      [1, 1],
      [2, 2],
      [51, 2],
      [52, 3],
      [151, 4],
    ] as const) {
      const before = await calls();
      await Promise.all(
        Array.from({ length: requests }, (_, index) => valkey.consume(one(`${requests}-${index}`))),
      );
      expect((await calls()) - before).toBe(expected);
    }
  });

  test('is decided one request after the other, each all or nothing, as memory does', async () => {
    const asked = fc.record({ rule: fc.nat(rules.length - 1), subject: fc.nat(2), cost: fc.nat(2) });
    const request = fc.array(asked, { minLength: 1, maxLength: 3 });
    const turn = fc.record({
      later: fc.nat(4_000),
      requests: fc.array(request, { minLength: 1, maxLength: 12 }),
    });
    let round = 0;
    const property = fc.asyncProperty(fc.array(turn, { maxLength: 8 }), async (turns) => {
      const memory = new MemoryStore(() => now);
      now = START;
      round += 1;
      for (const [index, { later, requests }] of turns.entries()) {
        now += later;
        const all = requests.map((wanted, which) =>
          wanted.map(({ rule, subject, cost }, place) => {
            const key = `${run}:${round}:${subject}:${place}:${rules[rule]!.id}`;
            return attempt(rules[rule]!, key, cost, `lease-${index}-${which}-${place}`);
          }),
        );
        const expected = all.map((attempts) => memory.consume(attempts));
        expect(await Promise.all(all.map((attempts) => valkey.consume(attempts)))).toEqual(expected);
      }
    });
    await fc.assert(property, { numRuns: 60 });
  });

  test('fails alone where it fails, and takes nothing', async () => {
    await admin.rpush(`${run}:foreign:${rules[1]!.id}`, 'not ours');
    const spoilt = [attempt(rules[1]!, `${run}:beside`, 1), ...one('foreign', rules[1]!)];
    const settled = await Promise.allSettled([
      valkey.consume(one('before')),
      valkey.consume(one('together')),
      valkey.consume(spoilt),
      valkey.consume(one('behind')),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(settled[2]).toMatchObject({
      reason: {
        name: 'StoreUnavailableError',
        answered: true,
        message: expect.stringContaining('WRONGTYPE'),
      },
    });
    expect(await admin.exists(`${run}:beside`)).toBe(0);
    const behind = settled[3] as PromiseFulfilledResult<unknown>;
    expect(behind.value).toMatchObject({ verdicts: [{ outcome: 'allowed', remaining: 2 }] });
  });
});

describe('what may not all share a call', () => {
  const open = () => {
    const sent: string[] = [];
    const ask = (requests: readonly string[]) => {
      sent.push(requests.join(' '));
      return requests[0] === 'x9' ? Promise.reject(new Error('lost')) : Promise.resolve(requests);
    };
    const together = (send: () => void) => {
      sent.push('begin');
      send();
      sent.push('end');
    };
    const batches = new Batches<string, string>(ask, { callOf: (request) => request[0]!, together });
    return { batches, sent };
  };

  test('goes in a call for each kind, in the order of the first ones, and all of them together', async () => {
    const { batches, sent } = open();
    const answers = ['a1', 'b1', 'a2', 'b2', 'c1', 'a3'].map((request) => batches.add(request));
    expect(sent).toEqual(['a1']);
    expect(await Promise.all(answers)).toEqual(['a1', 'b1', 'a2', 'b2', 'c1', 'a3']);
    expect(sent).toEqual(['a1', 'begin', 'b1 b2', 'a2 a3', 'c1', 'end']);
  });

  test('goes at once or waits as a whole, where somebody needs all of it', async () => {
    const { batches, sent } = open();
    const first = batches.addAll(['a1', 'b1']);
    const second = batches.addAll(['a2', 'b2']);
    expect(sent).toEqual(['a1', 'b1']);
    expect(await Promise.all([...first, ...second])).toEqual(['a1', 'b1', 'a2', 'b2']);
    expect(sent).toEqual(['a1', 'b1', 'begin', 'a2', 'b2', 'end']);
    await Promise.all(batches.addAll(['a3', 'b3']));
    expect(sent.slice(-2)).toEqual(['a3', 'b3']);
  });

  test('fails by call', async () => {
    const { batches } = open();
    const settled = await Promise.allSettled(['a1', 'x9', 'b1', 'x1'].map((request) => batches.add(request)));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
  });
});
