import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import type { Redis } from 'iovalkey';
import {
  byPlan,
  createRateLimiter,
  key,
  RateLimitConfigError,
  RateLimiter,
  type RateLimitModuleOptions,
  StoreUnavailableError,
} from 'nestjs-valkey-rate-limit';
import { connect } from '../../libs/rate-limit/src/storage/valkey/connect.js';
import { createValkey } from '../../libs/rate-limit/src/storage/valkey/index.js';
import { Scripts, toScript } from '../../libs/rate-limit/src/storage/valkey/scripts.js';
import type { LocalValkey } from '../../tools/local-valkey.js';
import { until } from '../../tools/until.js';
import { adapters } from '../support/app.js';
import { lookInto } from '../support/client.js';
import { rightsOf } from '../support/guide.js';
import { Limit, LONG, startLittle, statuses } from '../support/little.js';
import { ownValkey } from '../support/valkey.js';

/** The names of the sample's policies are registered for the whole program; these are others. */
const any = (name: string) => name as never;

const client = key.header('x-client');
const ten = { algorithm: 'fixed-window', limit: 10, window: LONG, key: client } as const;
const policies = {
  ten,
  other: ten,
  shared: ten,
  broken: ten,
  planned: byPlan(
    {
      free: { algorithm: 'fixed-window', limit: 10, window: LONG },
      pro: { algorithm: 'fixed-window', limit: 100, window: LONG },
      staff: 'unlimited',
    },
    { default: 'free', key: client },
  ),
} as const;

const limiters: RateLimiter[] = [];
afterEach(() => Promise.all(limiters.splice(0).map((limiter) => limiter.close())));

/** Is closed after the test. */
async function own(options: Partial<RateLimitModuleOptions> = {}): Promise<RateLimiter> {
  const limiter = await create(options);
  limiters.push(limiter);
  return limiter;
}

const create = (options: Partial<RateLimitModuleOptions>) =>
  createRateLimiter({ policies: policies as never, telemetry: { top: 100 }, deadline: '5s', ...options });

async function ask(limiter: RateLimiter, policy: string, who: string, times: number, plan?: string) {
  for (let count = 0; count < times; count += 1) {
    await limiter.consume(any(policy), { key: who, ...(plan !== undefined && { plan }) });
  }
}

@Controller()
class Routes {
  @Get('ten')
  @Limit('ten')
  ten(): string {
    return '';
  }
}

describe('limiter.top', () => {
  test.each(adapters)(
    'tells whose requests are closest to their limit, and over it, on %s',
    async (adapter) => {
      const app = await startLittle(adapter, { policies: policies as never, telemetry: { top: 10 } }, [
        Routes,
      ]);
      for (const [name, times] of [
        ['ada', 3],
        ['bob', 14],
        ['cyd', 8],
      ] as const) {
        await statuses(app, '/ten', times, { headers: { 'x-client': name } });
      }
      // Whom nobody knows shares one bucket, which is nobody.
      await statuses(app, '/ten', 12);
      const limiter = app.app.get(RateLimiter);
      const { keys, error, spanMs } = await limiter.top(any('ten'));
      const close = (asked: number): unknown => expect.closeTo(asked, 6);
      expect(keys).toEqual([
        // Those refused before Nest are counted as well.
        { key: 'bob', asked: close(1.4), denied: 4, limit: 10, remaining: 0 },
        { key: 'cyd', asked: close(0.8), denied: 0, limit: 10, remaining: 2 },
        { key: 'ada', asked: close(0.3), denied: 0, limit: 10, remaining: 7 },
      ]);
      expect(error).toBe(0);
      expect(spanMs).toBeGreaterThanOrEqual(1);
      expect(spanMs).toBeLessThan(30_000);
      expect((await limiter.top(any('ten'), 2)).keys.map((each) => each.key)).toEqual(['bob', 'cyd']);
      expect((await limiter.top(any('other'))).keys).toEqual([]);
    },
  );

  test('compares keys by their own limits', async () => {
    const limiter = await own();
    await ask(limiter, 'planned', 'big', 20, 'pro');
    await ask(limiter, 'planned', 'small', 5, 'free');
    await ask(limiter, 'planned', 'us', 50, 'staff');
    const { keys } = await limiter.top(any('planned'));
    expect(keys).toMatchObject([
      { key: 'small', asked: expect.closeTo(0.5, 6), limit: 10, remaining: 5 },
      { key: 'big', asked: expect.closeTo(0.2, 6), limit: 100, remaining: 80 },
    ]);
    expect(keys).toHaveLength(2);
  });

  test('counts what a request costs, and nothing for who only looks', async () => {
    const limiter = await own();
    await limiter.consume(any('ten'), { key: 'ada', cost: 7 });
    for (let count = 0; count < 9; count += 1) await limiter.peek(any('ten'), { key: 'bob' });
    expect((await limiter.top(any('ten'))).keys).toMatchObject([
      { key: 'ada', asked: expect.closeTo(0.7, 6) },
    ]);
  });

  test('counts one limit for a request at the most, whatever it costs', async () => {
    const limiter = await own();
    await limiter.consume(any('ten'), { key: 'ada', cost: 1_000_000 });
    await ask(limiter, 'ten', 'bob', 15);
    const { keys } = await limiter.top(any('ten'));
    expect(keys.map((each) => [each.key, Number(each.asked.toFixed(6)), each.denied])).toEqual([
      ['bob', 1.5, 5],
      ['ada', 1, 1],
    ]);
  });

  test('tells short names of keys that are long', async () => {
    const limiter = await own();
    const long = 'x'.repeat(5_000);
    await ask(limiter, 'ten', long, 2);
    await ask(limiter, 'ten', `${long}y`, 1);
    const names = (await limiter.top(any('ten'))).keys.map((each) => each.key);
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect(name.length).toBeLessThanOrEqual(64);
  });

  test('keeps as many as it is told, and says how much is missing from their numbers', async () => {
    const limiter = await own({ telemetry: { top: 10 } });
    await ask(limiter, 'ten', 'loud', 40);
    for (let count = 0; count < 200; count += 1) await ask(limiter, 'ten', `once-${count}`, 1);
    const { keys, error } = await limiter.top(any('ten'), 1_000);
    expect(keys.length).toBeLessThanOrEqual(10);
    expect(keys[0]!.key).toBe('loud');
    expect(error).toBeGreaterThan(0);
    // Never too high, and too low by the error at the most.
    expect(keys[0]!.asked).toBeLessThanOrEqual(4 + 1e-6);
    expect(keys[0]!.asked + error).toBeGreaterThanOrEqual(4 - 1e-6);
  });

  test('tells ten unless it is told how many', async () => {
    const limiter = await own();
    for (let count = 0; count < 15; count += 1) await ask(limiter, 'ten', `key-${count}`, 1 + (count % 3));
    expect((await limiter.top(any('ten'))).keys).toHaveLength(10);
    expect((await limiter.top(any('ten'), 100)).keys).toHaveLength(15);
  });

  test('says what to do where nobody is kept count of', async () => {
    const error = await (await own({ telemetry: {} })).top(any('ten')).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RateLimitConfigError);
    expect(error).toMatchObject({
      code: 'NO_TOP',
      message:
        'RateLimiter top: nobody is kept count of. Say for how many keys of a policy that is to be done: telemetry: { top: 100 }.',
    });
  });

  test('refuses a policy that is not there', async () => {
    const error = await (await own()).top(any('tne')).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RateLimitConfigError);
    expect(error).toMatchObject({
      code: 'UNKNOWN_POLICY',
      message: expect.stringMatching(/no policy "tne".*"ten"/),
    });
  });

  test.each([0, -1, 1.5, NaN, Infinity, null, '3'])('refuses to tell %p of them', async (count) => {
    const error = await (await own()).top(any('ten'), count as number).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RateLimitConfigError);
    expect(error).toMatchObject({
      code: 'INVALID_COUNT',
      message: expect.stringContaining('whole number from 1'),
    });
  });
});

describe('limiters that share a Valkey', () => {
  const PREFIX = 'shared:';
  const HASH = `${PREFIX}top:shared`;
  const ENDS = ':ends';
  let [one, other]: RateLimiter[] = [];
  let admin: Redis;
  let url: string;
  let server: LocalValkey;

  beforeAll(async () => {
    server = await ownValkey();
    admin = lookInto(server.url);
    // All that it needs is what the guide names.
    const rights = (await rightsOf('limiter')).map((right) =>
      right.startsWith('~') ? `~${PREFIX}*` : right,
    );
    await admin.call('ACL', 'SETUSER', 'limiter', 'reset', ...rights);
    url = server.url.replace('//', '//limiter:secret@');
    const options = { valkey: url, prefix: PREFIX, deadline: '1s' } as const;
    [one, other] = [await create(options), await create(options)];
    await ask(one!, 'shared', 'ada', 4);
    await ask(one!, 'shared', 'bob', 1);
    await ask(other!, 'shared', 'ada', 5);
    await ask(other!, 'shared', 'cyd', 3);
  });
  afterAll(async () => {
    await one?.close();
    await other?.close();
  });

  const told = async (limiter: RateLimiter) => {
    const { keys } = await limiter.top(any('shared'));
    return keys.map((each) => [each.key, Number(each.asked.toFixed(6))]);
  };
  const all = [
    ['ada', 0.9],
    ['cyd', 0.3],
    ['bob', 0.1],
  ];
  const ends = async () => JSON.parse((await admin.hget(HASH, ENDS)) ?? '{}') as Record<string, number>;
  const writeEnds = (text: string) => admin.hset(HASH, ENDS, text);
  const now = async () => {
    const [seconds, micros] = await admin.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  };

  test('see each other’s keys within six seconds, and count them together', async () => {
    const begun = performance.now();
    await until('both know all', async () => {
      const both = await Promise.all([told(one!), told(other!)]);
      return both.every((keys) => JSON.stringify(keys) === JSON.stringify(all));
    });
    // On a machine that is busy it takes a little longer.
    expect(performance.now() - begun).toBeLessThan(8_000);
    // Each tells what itself knows at once, and not twice when it has told others.
    await ask(one!, 'shared', 'cyd', 1);
    expect(await told(one!)).toEqual([
      ['ada', 0.9],
      ['cyd', 0.4],
      ['bob', 0.1],
    ]);
    expect(await told(other!)).toEqual(all);
    // What is said of a key is never more than it asked for.
    expect((await one!.top(any('shared'))).error).toBe(0);
  });

  test('leave nothing behind: what a process has told ends after a minute, and the hash with the last', async () => {
    const at = await now();
    const processes = await ends();
    expect(Object.keys(processes)).toHaveLength(2);
    for (const end of Object.values(processes)) {
      expect(end - at).toBeGreaterThan(30_000);
      expect(end - at).toBeLessThanOrEqual(60_000);
    }
    expect((await admin.hkeys(HASH)).toSorted()).toEqual([ENDS, ...Object.keys(processes)].toSorted());
    const ttlMs = await admin.pttl(HASH);
    expect(ttlMs).toBeGreaterThan(30_000);
    // Not before the last of them.
    expect(ttlMs).toBeGreaterThanOrEqual(Math.max(...Object.values(processes)) - (await now()) - 1);
    expect(ttlMs).toBeLessThanOrEqual(60_000);
    expect(await admin.keys(`${PREFIX}top:*`)).toEqual([HASH]);
  });

  test('forget a process that is gone, and the next that tells something removes it, and mends what is broken', async () => {
    const BROKEN = `${PREFIX}top:broken`;
    const [processes, at] = [await ends(), await now()];
    const gone = 'gone';
    const text = JSON.stringify({ total: 9, error: 0, spanMs: 10, entries: [['eve', 9, 0, 10, 0]] });
    await admin.hset(HASH, gone, text);
    await admin.hset(BROKEN, ENDS, '{"garbage":"soon","other":null,"third":{}');
    await writeEnds(JSON.stringify({ ...processes, [gone]: at + 60_000 }));
    expect((await told(other!))[0]).toEqual(['eve', 9]);
    await writeEnds(JSON.stringify({ ...processes, [gone]: at - 1 }));
    expect((await told(other!)).flat()).not.toContain('eve');
    expect(await admin.hexists(HASH, gone)).toBe(1);
    await Promise.all(
      [one!, other!].flatMap((each) => [ask(each, 'shared', 'cyd', 1), ask(each, 'broken', 'ada', 1)]),
    );
    await until('it is removed', async () => (await admin.hexists(HASH, gone)) === 0);
    expect(Object.keys(await ends())).toHaveLength(2);
    await until(
      'both have told',
      async () => Object.keys(JSON.parse((await admin.hget(BROKEN, ENDS))!) as object).length === 2,
    );
    for (const each of [one!, other!]) {
      const { keys } = await each.top(any('broken'));
      expect(keys).toMatchObject([{ key: 'ada', asked: expect.closeTo(0.2, 6) }]);
    }
    await until('both know the same', async () => {
      return JSON.stringify(await told(one!)) === JSON.stringify(await told(other!));
    });
  });

  test.each([
    ['no JSON', '{"total": 1'],
    ['another shape', '{"version": 9, "keys": [["eve", 9]]}'],
    ['a text', '"eve"'],
    ['nothing', ''],
    ['numbers that are none', '{"total":1,"error":0,"spanMs":1,"entries":[["eve","9",0,10,0]]}'],
    ['a number that is too large', '{"total":1e999,"error":0,"spanMs":1,"entries":[["eve",1e999,0,10,0]]}'],
    ['what is negative', '{"total":1,"error":0,"spanMs":1,"entries":[["eve",-9,0,10,0]]}'],
    ['no span', '{"total":1,"error":0,"entries":[["eve",9,0,10,0]]}'],
    ['a prototype', '{"__proto__":{"total":1,"error":0,"spanMs":1,"entries":[["eve",9,0,10,0]]}}'],
    ['nesting', '['.repeat(50_000)],
    ['bytes', Buffer.from([0xff, 0xfe, 0x00, 0x80])],
  ] as const)('ignore %s', async (_, text) => {
    const before = await told(one!);
    const processes = await ends();
    for (const name of ['garbage', '__proto__', 'constructor', '0']) await admin.hset(HASH, name, text);
    const far = (await now()) + 60_000;
    const names = { garbage: far, constructor: far, 0: far };
    await writeEnds(JSON.stringify({ ...processes, ...names }).replace('{', `{"__proto__":${far},`));
    try {
      expect(await told(one!)).toEqual(before);
    } finally {
      await admin.hdel(HASH, 'garbage', '__proto__', 'constructor', '0');
      await writeEnds(JSON.stringify(processes));
    }
  });

  test.each([
    ['no JSON', '{'],
    ['a number', '7'],
    ['null', 'null'],
    ['ends that are none', '{"garbage":"soon","other":null,"third":{},"fourth":[1]}'],
    ['a list', '[1,2,9e15]'],
    ['nesting', '['.repeat(5_000)],
  ])('bear %s where it is said when they end', async (_, text) => {
    await writeEnds(text);
    expect(await told(one!)).toContainEqual(['ada', expect.any(Number)]);
  });

  // JSON has no infinity, so the script that tells others cannot write it back, and fails until the hash has ended.
  test('a number without end does not keep them from telling others', async () => {
    const { store, sketches } = createValkey(url, {
      deadlineMs: 5_000,
      prefix: PREFIX,
      warn: () => undefined,
    });
    await store.open();
    try {
      await admin.hset(`${PREFIX}top:endless`, ENDS, '{"garbage":1e999}');
      await sketches.write('endless', 'me', 'text', 60_000);
      expect((await sketches.read('endless')).get('me')).toBe('text');
    } finally {
      await store.close();
    }
  });

  test('what is no hash is told as a store that does not answer, and harms no decision', async () => {
    await admin.set(`${PREFIX}top:other`, 'no hash');
    await expect(one!.top(any('other'))).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await one!.consume(any('other'), { key: 'ada' })).toMatchObject({
      outcome: 'allowed',
      store: 'valkey',
    });
  });

  // What others are told may take longer than a decision, and the message names the deadline of decisions.
  test('say how long they have waited for a Valkey that does not answer', async () => {
    const connection = connect(url, 5_000, () => undefined);
    await connection.open();
    server.kill('SIGSTOP');
    try {
      const asked = new Scripts(connection, 5_000).run(toScript('return 1'), 1, [`${PREFIX}top:other`], 100);
      const error = (await asked.catch((reason: unknown) => reason)) as Error;
      expect(error.message).toContain('no answer within 100 ms');
    } finally {
      server.kill('SIGCONT');
      connection.close();
    }
  });

  // The last one, as it stops the server.
  test('say so when Valkey does not answer', async () => {
    admin.disconnect();
    await server.stop();
    const begun = performance.now();
    await expect(one!.top(any('shared'))).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(performance.now() - begun).toBeLessThan(7_000);
    // And decisions are made all the same.
    expect(await one!.consume(any('shared'), { key: 'new' })).toMatchObject({ outcome: 'allowed' });
  });
});
