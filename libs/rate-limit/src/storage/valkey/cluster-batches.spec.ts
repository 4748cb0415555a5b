import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import * as fc from 'fast-check';
import { ask } from '../../../../../tools/ask-valkey.js';
import { type LocalCluster, startCluster } from '../../../../../tools/local-cluster.js';
import { until } from '../../../../../tools/until.js';
import { attempt, toRule } from '../../../testing/asking.js';
import { MemoryStore } from '../memory/memory-store.js';
import type { Answer, Attempt, Store } from '../store.js';
import { createValkey } from './index.js';

const START = 1_000_000_000_000;
const rules = [
  { algorithm: 'token-bucket', limit: 5, window: '10s' },
  { algorithm: 'leaky-bucket', limit: 6, window: '10s' },
  { algorithm: 'fixed-window', limit: 5, window: '10s' },
  { algorithm: 'sliding-log', limit: 6, window: '10s' },
  { algorithm: 'sliding-counter', limit: 7, window: '10s' },
  { algorithm: 'quota', limit: 9, period: 'day' },
  { algorithm: 'concurrency', limit: 5, lease: '10s' },
].map((options) => toRule(options as Parameters<typeof toRule>[0]));
const many = toRule({ algorithm: 'token-bucket', limit: 1_000, window: '1h' });

const later = fc.nat(4_000);
/** Two policies, and what is asked of them: few enough that many are denied, and some after they have taken. */
const pair = fc.tuple(fc.nat(rules.length - 1), fc.nat(rules.length - 1));
const wish = fc.record({ policy: fc.nat(1), subject: fc.nat(2), cost: fc.nat(2) });
const wishes = fc.uniqueArray(wish, {
  minLength: 1,
  maxLength: 4,
  selector: ({ policy, subject }) => `${policy} ${subject}`,
});

describe('what is asked of a Cluster in one turn', () => {
  let cluster: LocalCluster;
  let now = START;
  let runs = 0;
  const stores: Store[] = [];
  let valkey: Store;

  const open = async (deadlineMs: number) => {
    const options = { deadlineMs, clock: () => now, prefix: 'rl:', warn: console.warn };
    const { store } = createValkey({ cluster: cluster.urls }, options);
    stores.push(store);
    await store.open();
    return store;
  };
  const consumeAll = (requests: readonly (readonly Attempt[])[], store = valkey) =>
    Promise.all(requests.map((attempts) => store.consume(attempts)));
  const one = (subject: string, rule = many) => [attempt(rule, `rl:{${subject}}:api:${rule.id}`, 1)];
  /** A subject whose keys are kept by the node. */
  const subjectOf = async (place: number, name: string) => {
    for (let count = 0; ; count += 1) {
      const subject = `${name}-${count}`;
      if ((await cluster.ownerOf(calculateSlot(subject))) === cluster.nodes[place]) return subject;
    }
  };
  const calls = async () => {
    const all = cluster.nodes.map(async ({ server }) => {
      const stats = String(await ask(server, 'INFO', 'commandstats'));
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
    });
    return (await Promise.all(all)).reduce((sum, count) => sum + count);
  };
  const allowed = ({ verdicts }: Answer) => verdicts.every(({ outcome }) => outcome === 'allowed');

  beforeAll(async () => {
    cluster = await startCluster();
    valkey = await open(5_000);
    // A script that a node does not know yet is sent again, behind what was asked with it.
    for (let place = 0; place < 3; place += 1) {
      const subject = await subjectOf(place, 'warm');
      for (const rule of [many, ...rules]) await valkey.consume(one(subject, rule));
      await consumeAll(Array.from({ length: 3 }, () => one(subject)));
    }
  });
  afterAll(async () => {
    for (const store of stores) await store.close();
    await cluster.stop();
  });

  test('goes in one call for the same keys, 50 requests at the most, and the first of all at once', async () => {
    for (const [subjects, requests, expected] of [
      [1, 1, 1],
      [1, 2, 2],
      [1, 51, 2],
      [1, 52, 3],
      [2, 2, 2],
      [3, 30, 4],
      [20, 20, 20],
      [20, 200, 21],
    ] as const) {
      const asked = Array.from({ length: requests }, (_, index) => one(`calls-${index % subjects}`));
      const before = await calls();
      await consumeAll(asked);
      expect((await calls()) - before).toBe(expected);
    }
  });

  test('is decided as memory decides it one after the other', async () => {
    // Whoever is asked about in a turn is asked about with the same policies in it.
    const turn = fc.record({
      later,
      policies: fc.array(fc.uniqueArray(fc.nat(rules.length - 1), { minLength: 1, maxLength: 3 }), {
        minLength: 3,
        maxLength: 3,
      }),
      requests: fc.array(fc.record({ subject: fc.nat(2), cost: fc.nat(2) }), { minLength: 1, maxLength: 15 }),
    });
    const property = fc.asyncProperty(fc.array(turn, { maxLength: 8 }), async (turns) => {
      const memory = new MemoryStore(() => now);
      now = START;
      runs += 1;
      for (const [index, { later: passed, policies, requests }] of turns.entries()) {
        now += passed;
        const all = requests.map(({ subject, cost }, which) =>
          policies[subject]!.map((rule, place) => {
            const key = `rl:{same-${runs}-${subject}}:${rule}:${rules[rule]!.id}`;
            return attempt(rules[rule]!, key, cost, `lease-${index}-${which}-${place}`);
          }),
        );
        const expected = all.map((attempts) => memory.consume(attempts));
        expect(await consumeAll(all)).toEqual(expected);
      }
    });
    await fc.assert(property, { numRuns: 60 });
  });

  test('takes what is allowed and nothing else, also where shards have to give back', async () => {
    const turn = fc.record({ later, requests: fc.array(wishes, { minLength: 1, maxLength: 10 }) });
    const turns = fc.array(turn, { minLength: 1, maxLength: 6 });
    const property = fc.asyncProperty(pair, turns, async (policies, turnsOfRun) => {
      const memory = new MemoryStore(() => now);
      now = START;
      runs += 1;
      const seen = new Map<string, Attempt>();
      for (const [index, { later: passed, requests }] of turnsOfRun.entries()) {
        now += passed;
        const all = requests.map((wanted, which) =>
          wanted.map(({ policy, subject, cost }, place) => {
            const rule = rules[policies[policy]!]!;
            const key = `rl:{any-${runs}-${subject}}:${policy}:${rule.id}`;
            const asked = attempt(rule, key, cost, `lease-${index}-${which}-${place}`);
            seen.set(key, { ...asked, cost: 0 });
            return asked;
          }),
        );
        const answers = await consumeAll(all);
        for (const [which, answer] of answers.entries()) {
          if (allowed(answer)) expect(allowed(memory.consume(all[which]!))).toBe(true);
        }
        for (const look of seen.values())
          expect(await valkey.consume([look])).toEqual(memory.consume([look]));
      }
    });
    await fc.assert(property, { numRuns: 30 });
  });

  test('is decided to the last while their slot moves, whatever policies it has', async () => {
    const [from, to] = cluster.nodes;
    const subject = await subjectOf(0, 'moving');
    const [first, second, third] = [0, 2, 3].map((rule) => one(subject, rules[rule]));
    const requests = [first!, second!, third!].flatMap((attempts) =>
      Array.from({ length: 8 }, () => attempts),
    );
    now = START;
    const taken = await consumeAll([first!, second!]); // and the third one has no key yet
    await cluster.moveSlots([calculateSlot(subject)], from!, to!, async () => {
      taken.push(...(await consumeAll(requests)));
    });
    expect(taken.filter(allowed)).toHaveLength(5 + 5 + 6);
    await cluster.moveSlots([calculateSlot(subject)], to!, from!);
  });

  test('fails where its shard fails and nowhere else, and is not asked a second time', async () => {
    const impatient = await open(500);
    const subjects = await Promise.all([0, 1, 2].map((place) => subjectOf(place, 'failing')));
    for (const subject of subjects) await impatient.consume(one(subject));
    const requests = Array.from({ length: 60 }, (_, index) => one(subjects[index % 3]!));
    const frozen = cluster.nodes[1]!;
    frozen.server.kill('SIGSTOP');
    let settled: PromiseSettledResult<Answer>[];
    try {
      settled = await Promise.allSettled(requests.map((attempts) => impatient.consume(attempts)));
    } finally {
      frozen.server.kill('SIGCONT');
    }
    for (const [index, result] of settled.entries()) {
      const [{ key } = { key: '' }] = requests[index]!;
      if (index % 3 === 1) {
        expect(result).toMatchObject({ reason: { name: 'StoreUnavailableError', answered: false, key } });
      } else {
        expect(result.status).toBe('fulfilled');
      }
    }
    const usedBy = async (subject: string) => {
      const [verdict] = (await valkey.consume([{ ...one(subject)[0]!, cost: 0 }])).verdicts;
      return 1_000 - verdict!.remaining;
    };
    await until('the frozen node answers', () =>
      usedBy(subjects[1]!).then(
        () => true,
        () => false,
      ),
    );
    expect(await usedBy(subjects[0]!)).toBe(21);
    expect(await usedBy(subjects[1]!)).toBeLessThanOrEqual(21);
    expect(await usedBy(subjects[2]!)).toBe(21);
  });
});
