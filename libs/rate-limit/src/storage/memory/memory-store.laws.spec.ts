import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { toRule } from '../../../testing/asking.js';
import type { Answer, Attempt } from '../store.js';
import { toVerdicts } from '../verdicts.js';
import { MemoryStore } from './memory-store.js';

const START = 1_000_000_000_000;

/** The simplest store there can be: it forgets nothing but what it is told to. */
class PlainStore {
  readonly #states = new Map<string, unknown>();

  consume(attempts: readonly Attempt[], now: number): Answer {
    const steps = attempts.map((attempt) => attempt.rule.step(this.#states.get(attempt.key), now, attempt));
    const passed = steps.every(({ allowed }) => allowed);
    steps.forEach(({ allowed, state, ttlMs }, index) => {
      const { key } = attempts[index]!;
      if (state === undefined || (!passed && allowed)) return;
      if (ttlMs === 0) this.#states.delete(key);
      else this.#states.set(key, state);
    });
    return { at: now, verdicts: toVerdicts(attempts, steps) };
  }

  reset(key: string): void {
    this.#states.delete(key);
  }
}

const rules = [
  toRule({ algorithm: 'fixed-window', limit: 3, window: '7s' }),
  toRule({ algorithm: 'token-bucket', limit: 5, window: '10s' }),
  toRule({ algorithm: 'token-bucket', limit: 7, window: '3s', burst: 3 }),
  toRule({ algorithm: 'sliding-counter', limit: 4, window: '5s' }),
  toRule({ algorithm: 'sliding-log', limit: 9, window: '20s' }),
  toRule({ algorithm: 'concurrency', limit: 4, lease: '3s' }),
];

/** Keys of all lengths modulo a word, and some that are alike until their last character, or have wide ones. */
const keyOf = (client: number, rule: number) =>
  `${'x'.repeat(client % 9)}${client % 10 === 0 ? '\u20ac\0' : ''}${client}${client % 7 === 0 ? '\0' : ''}:${rule}`;

const asked = fc.record({
  client: fc.nat(2_000),
  cost: fc.oneof(fc.constant(1), fc.integer({ min: -2, max: 6 })),
});
const action = fc.record({
  later: fc.oneof(fc.constant(0), fc.nat(200), fc.nat(3_000)),
  attempts: fc.array(asked, { minLength: 1, maxLength: 3 }),
  reset: fc.option(fc.nat(2_000), { freq: 5 }),
  /** A flood of clients, so that segments grow, are split, and are copied. */
  others: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(900) }),
});

describe('the memory store', () => {
  test('answers exactly as the simplest store does', () => {
    const law = (
      actions: (typeof action extends fc.Arbitrary<infer Value> ? Value : never)[],
      first: number,
    ) => {
      let now = START;
      const store = new MemoryStore(() => now);
      const plain = new PlainStore();
      const both = (attempts: Attempt[]) =>
        expect(store.consume(attempts)).toEqual(plain.consume(attempts, now));
      let next = first;
      for (const { later, attempts, reset, others } of actions) {
        now += later;
        both(
          attempts.map(({ client, cost }, index) => {
            const rule = (client + index) % rules.length;
            return {
              rule: rules[rule]!,
              key: keyOf(client, 10 * index + rule),
              cost,
              at: now,
              lease: `${cost}`,
            };
          }),
        );
        for (const end = next + others; next < end; next += 1) {
          const rule = next % rules.length;
          both([{ rule: rules[rule]!, key: keyOf(next % 2_000, rule), cost: 1, lease: `${next}` }]);
        }
        if (reset === null) continue;
        const key = keyOf(reset, reset % rules.length);
        store.reset(key);
        plain.reset(key);
      }
      store.close();
      expect(store.size).toBe(0);
    };
    fc.assert(fc.property(fc.array(action, { maxLength: 60, size: 'max' }), fc.nat(2_000), law), {
      numRuns: 30,
    });
  });

  test('tells keys apart that differ in one character, in length or in how wide they are', () => {
    const store = new MemoryStore(() => START);
    const rule = toRule({ algorithm: 'fixed-window', limit: 1, window: '1h' });
    const keys = [
      '',
      '\0',
      '\0\0',
      'a',
      'a\0',
      'a\0\0\0',
      'abcd',
      'abce',
      '\u0100',
      'a\u0100',
      '\u6100',
      'x'.repeat(9_999),
    ];
    keys.push(...Array.from({ length: 300 }, (_, code) => `key-${String.fromCharCode(code)}`));
    for (const outcome of ['allowed', 'denied']) {
      for (const key of keys)
        expect(store.consume([{ rule, key, cost: 1 }]).verdicts[0]).toMatchObject({ outcome });
    }
    expect(store.size).toBe(keys.length);
    store.close();
  });

  test('a flood of 300,000 clients frees none of the 5,000 that are blocked, and none is held beyond the most', () => {
    const store = new MemoryStore(() => START, 20_000);
    const rule = toRule({ algorithm: 'token-bucket', limit: 2, window: '1h' });
    const take = (key: string, cost: number) => store.consume([{ rule, key, cost }]).verdicts[0]!.outcome;
    for (let client = 0; client < 5_000; client += 1) take(`rl:{blocked-${client}}:api:tb`, 2);
    for (let client = 0; client < 300_000; client += 1) take(`rl:{new-${client}}:api:tb`, 1);
    expect(store.size).toBe(20_000);
    let denied = 0;
    for (let client = 0; client < 5_000; client += 1) {
      if (take(`rl:{blocked-${client}}:api:tb`, 1) === 'denied') denied += 1;
    }
    expect(denied).toBe(5_000);
    store.close();
  });

  test('lets go of everything that has run out, also when nobody asks for anything any more', async () => {
    let now = START;
    const store = new MemoryStore(() => now);
    const [short, long] = ['10s', '1h'].map((window) =>
      toRule({ algorithm: 'token-bucket', limit: 1, window: window as '1h' }),
    );
    for (let client = 0; client < 10_000; client += 1) {
      store.consume([{ rule: client < 100 ? long! : short!, key: `client-${client}`, cost: 1 }]);
    }
    now += 11_000;
    const sweptTo = async (size: number) => {
      while (store.size > size) await sleep(10);
      expect(store.size).toBe(size);
    };
    await sweptTo(100);
    expect(store.consume([{ rule: long!, key: 'client-99', cost: 1 }]).verdicts[0]!.outcome).toBe('denied');
    now += 3_600_000;
    await sweptTo(0);
  });

  test('keeps no process alive', async () => {
    const script = `
      import { MemoryStore } from ${JSON.stringify(new URL('memory-store.ts', import.meta.url).href)};
      const rule = {
        step: () => ({ allowed: true, reading: [], state: [1, 2], ttlMs: 3_600_000 }),
        allowed: () => ({ outcome: 'allowed', delayMs: 0, remaining: 1, nextMs: 1, resetMs: 1 }),
      };
      const store = new MemoryStore();
      store.consume([{ rule, key: 'client', cost: 1 }]);
      console.log(store.size);`;
    const run = promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '-e', script],
      {
        timeout: 25_000,
      },
    );
    expect((await run).stdout).toBe('1\n');
  });
});
