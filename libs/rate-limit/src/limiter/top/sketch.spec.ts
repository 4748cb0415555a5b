import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { type Exported, HeavyHitters, isExported, merge, type Seen } from './sketch.js';

/** One decision: of whom, how much was asked for, and whether it was denied. Whole weights, so that sums are exact. */
type Ask = readonly [key: string, asked: number, denied: boolean];

const seen = (denied = false): Seen => ({ limit: 10, remaining: denied ? 0 : 4, denied });

function fill(size: number, asks: readonly Ask[], sketch = new HeavyHitters(size)): HeavyHitters {
  for (const [key, asked, denied] of asks) sketch.add(key, asked, seen(denied));
  return sketch;
}

function count(asks: readonly Ask[]): Map<string, { asked: number; denied: number }> {
  const exact = new Map<string, { asked: number; denied: number }>();
  for (const [key, asked, denied] of asks) {
    const known = exact.get(key) ?? { asked: 0, denied: 0 };
    exact.set(key, { asked: known.asked + asked, denied: known.denied + Number(denied) });
  }
  return exact;
}

function expectGuarantee({ total, error, entries }: Exported, size: number, asks: readonly Ask[]): void {
  const exact = count(asks);
  const known = new Map(entries.map(([key, asked, denied]) => [key, { asked, denied }]));
  expect(known.size).toBe(entries.length);
  expect(entries.length).toBeLessThanOrEqual(size);
  expect(total).toBe(asks.reduce((sum, [, asked]) => sum + asked, 0));
  // Stronger than error ≤ total / (size + 1): what is left was not subtracted.
  const left = entries.reduce((sum, [, asked]) => sum + asked, 0);
  expect(error * (size + 1)).toBeLessThanOrEqual(total - left);
  for (const [key, { asked, denied }] of exact) {
    const told = known.get(key) ?? { asked: 0, denied: 0 };
    expect(told.asked).toBeLessThanOrEqual(asked);
    expect(told.asked).toBeGreaterThanOrEqual(asked - error);
    if (asked > error) expect(known.has(key)).toBe(true);
    expect(told.denied).toBeLessThanOrEqual(denied);
    if (error === 0) expect(told.denied).toBe(denied);
  }
  for (const key of known.keys()) expect(exact.has(key)).toBe(true);
}

const size = fc.integer({ min: 1, max: 8 });
/** A peek is never denied here: before a key is known, its denials are not. */
const amount = fc
  .tuple(fc.nat(20), fc.boolean())
  .map(([asked, denied]) => [asked, denied && asked > 0] as const);
const fewKeys = fc.constantFrom(
  'ada',
  'bob',
  'cyd',
  '',
  '__proto__',
  'constructor',
  '\ud800',
  'a\u0000b',
  '%',
);
const random = fc
  .array(fc.tuple(fc.oneof(fewKeys, fc.string()), amount), { maxLength: 200 })
  .map((asks) => asks.map(([key, each]): Ask => [key, ...each]));
const allNew = fc
  .array(amount, { maxLength: 200 })
  .map((asks) => asks.map((each, index): Ask => [`new${index}`, ...each]));
const sorted = fc
  .tuple(allNew, fc.boolean())
  .map(([asks, isUp]) => asks.toSorted((one, other) => (isUp ? one[1] - other[1] : other[1] - one[1])));
/** The n-th key comes with a probability of about 1/n. */
const zipf = fc
  .array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 3 }), fc.boolean()), {
    maxLength: 300,
  })
  .map((asks) => asks.map(([at, asked, denied]): Ask => [`zipf${Math.floor(100 ** at)}`, asked, denied]));
const stream: fc.Arbitrary<readonly Ask[]> = fc.oneof(random, allNew, sorted, zipf);

describe('a sketch', () => {
  test('counts exactly while there is room for all', () => {
    const sketch = new HeavyHitters(2);
    sketch.add('ada', 0.5, { limit: 10, remaining: 5, denied: false });
    sketch.add('bob', 0.25, { limit: 4, remaining: 3, denied: false });
    sketch.add('ada', 0.75, { limit: 10, remaining: 5, denied: true });
    sketch.add('ada', 0.5, { limit: 20, remaining: 7, denied: true });
    expect(sketch.export()).toEqual({
      total: 2,
      error: 0,
      entries: [
        ['ada', 1.75, 2, 20, 7],
        ['bob', 0.25, 0, 4, 3],
      ],
    });
  });

  test('subtracts from all what the next after its size has, when it is full', () => {
    const sketch = fill(2, [
      ['ada', 9, false],
      ['bob', 3, true],
      ['cyd', 4, false],
    ]);
    expect([sketch.held, sketch.error]).toEqual([3, 0]);
    sketch.add('dan', 1, seen());
    expect([sketch.held, sketch.error]).toEqual([2, 3]);
    sketch.add('eve', 1, seen());
    expect([sketch.held, sketch.error, sketch.total]).toEqual([3, 3, 18]);
    // Whoever was dropped begins anew.
    sketch.add('bob', 8, seen());
    expect(sketch.export().entries).toEqual([
      ['ada', 5, 0, 10, 4],
      ['bob', 7, 0, 10, 4],
    ]);
    expect(sketch.error).toBe(4);
  });

  test('keeps no place for who only peeks, and tells what peeks have seen of who is in it', () => {
    const sketch = fill(3, [['ada', 1, false]]);
    for (const key of ['ada', 'bob', 'cyd']) sketch.add(key, 0, { limit: 10, remaining: 9, denied: false });
    expect(sketch.export()).toEqual({ total: 1, error: 0, entries: [['ada', 1, 0, 10, 9]] });
  });

  test.each([NaN, Infinity, -1, 1e300])('ignores an amount of %d', (asked) => {
    const sketch = fill(1, [['ada', 1, false]]);
    for (const key of ['ada', 'bob']) sketch.add(key, asked, seen(true));
    expect(sketch.export()).toEqual({ total: 1, error: 0, entries: [['ada', 1, 0, 10, 4]] });
  });

  test('keeps its guarantee, whatever comes', () => {
    fc.assert(
      fc.property(size, stream, (most, asks) => {
        expectGuarantee(fill(most, asks).export(), most, asks);
      }),
      { numRuns: 500 },
    );
  });

  test('keeps it when it is read in between', () => {
    fc.assert(
      fc.property(size, fc.array(stream, { maxLength: 4 }), (most, parts) => {
        const sketch = new HeavyHitters(most);
        for (const part of parts) {
          fill(most, part, sketch);
          sketch.export();
        }
        expectGuarantee(sketch.export(), most, parts.flat());
      }),
    );
  });

  test('never holds more than twice its size, and prunes only once for as many new keys as that is', () => {
    fc.assert(
      fc.property(size, stream, (most, asks) => {
        const sketch = new HeavyHitters(most);
        let prunes = 0;
        for (const [key, asked, denied] of asks) {
          const before = sketch.error;
          sketch.add(key, asked, seen(denied));
          if (sketch.error > before) prunes += 1;
          expect(sketch.held).toBeLessThan(2 * most);
        }
        expect(prunes).toBeLessThanOrEqual(asks.length / most);
      }),
    );
  });

  test('is right but for rounding with amounts that are not whole', () => {
    const share = fc.double({ min: 0, max: 50, noNaN: true });
    fc.assert(
      fc.property(size, fc.array(fc.tuple(fewKeys, share), { maxLength: 200 }), (most, asks) => {
        const sketch = fill(
          most,
          asks.map(([key, asked]) => [key, asked, false] as const),
        );
        const { total, error, entries } = sketch.export();
        expect(error).toBeLessThanOrEqual(total / (most + 1) + 1e-9);
        const told = new Map(entries.map(([key, asked]) => [key, asked]));
        for (const [key, { asked }] of count(asks.map(([name, part]) => [name, part, false]))) {
          expect(told.get(key) ?? 0).toBeLessThanOrEqual(asked + 1e-9);
          expect(told.get(key) ?? 0).toBeGreaterThanOrEqual(asked - error - 1e-9);
        }
      }),
    );
  });
});

describe('merging', () => {
  const processes = fc
    .tuple(size, fc.array(stream, { minLength: 2, maxLength: 5 }))
    .chain(([most, streams]) => {
      return fc.record({
        most: fc.constant(most),
        streams: fc.shuffledSubarray(streams, { minLength: streams.length }),
      });
    });
  /** As it comes from another process. */
  const sent = (exported: Exported): unknown => JSON.parse(JSON.stringify(exported));
  const exportedOf = ({ total, error, entries }: ReturnType<typeof merge>): Exported => ({
    total,
    error,
    entries: entries.map(({ key, asked, denied, limit, remaining }) => [
      key,
      asked,
      denied,
      limit,
      remaining,
    ]),
  });

  test('adds up, subtracts what is too much, and tells first who asked for most', () => {
    const one = fill(2, [
      ['ada', 5, true],
      ['bob', 2, false],
    ]);
    const other = fill(2, [
      ['cyd', 7, false],
      ['ada', 3, true],
    ]);
    other.add('ada', 1, { limit: 20, remaining: 1, denied: false });
    expect(merge([one.export(), other.export()], 2)).toEqual({
      total: 18,
      error: 2,
      entries: [
        { key: 'ada', asked: 7, denied: 2, limit: 20, remaining: 1 },
        { key: 'cyd', asked: 5, denied: 0, limit: 10, remaining: 4 },
      ],
    });
    expect(merge([], 2)).toEqual({ total: 0, error: 0, entries: [] });
  });

  test('keeps the guarantee for two to five in any order', () => {
    fc.assert(
      fc.property(processes, ({ most, streams }) => {
        const merged = merge(
          streams.map((asks) => sent(fill(most, asks).export())),
          most,
        );
        expectGuarantee(exportedOf(merged), most, streams.flat());
        const amounts = merged.entries.map(({ asked }) => asked);
        expect(amounts).toEqual(amounts.toSorted((one, other) => other - one));
      }),
      { numRuns: 300 },
    );
  });

  test('keeps it when what was merged is merged again, and when larger ones are', () => {
    fc.assert(
      fc.property(processes, ({ most, streams }) => {
        const merged = streams.reduce<Exported>(
          (all, asks) => exportedOf(merge([all, fill(most + 3, asks).export()], most)),
          new HeavyHitters(most).export(),
        );
        expectGuarantee(merged, most, streams.flat());
      }),
    );
  });

  test('tells the same in any order, but for what was seen last', () => {
    fc.assert(
      fc.property(processes, ({ most, streams }) => {
        const list = streams.map((asks) => fill(most, asks).export());
        const [one, other] = [list, list.toReversed()].map((each) => {
          const { entries, ...sums } = merge(each, most);
          return {
            ...sums,
            entries: new Map(entries.map(({ key, asked, denied }) => [key, [asked, denied]])),
          };
        });
        expect(one).toEqual(other);
      }),
    );
  });

  test('prunes what is larger than it should be', () => {
    const entries = Array.from({ length: 1_000 }, (_, index) => [`key${index}`, index, 0, 1, 1] as const);
    const { error, entries: known } = merge([{ total: 499_500, error: 0, entries }], 10);
    expect([error, known.length]).toEqual([989, 10]);
    expect(known[0]).toEqual({ key: 'key999', asked: 10, denied: 0, limit: 1, remaining: 1 });
    const sketch = new HeavyHitters(10);
    sketch.include({ total: 499_500, error: 0, entries });
    sketch.add('ada', 1, seen());
    expect(sketch.held).toBe(10);
  });

  const good = fill(2, [['ada', 5, true]]).export();
  const entry = ['bob', 1, 0, 10, 9];

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', '{}'],
    ['a list', []],
    ['no entries', { total: 1, error: 0 }],
    ['entries by name', { total: 1, error: 0, entries: { length: 1, 0: entry } }],
    ['no total', { error: 0, entries: [entry] }],
    ['a negative error', { total: 1, error: -1, entries: [entry] }],
    ['an error that is no number', { total: 1, error: '0', entries: [entry] }],
    ['a total that is none', { total: NaN, error: 0, entries: [entry] }],
    ['a total that no sum can be', { total: 1e300, error: 0, entries: [entry] }],
    ['an entry that is null', { total: 1, error: 0, entries: [entry, null] }],
    ['an entry that is missing', { total: 1, error: 0, entries: [undefined, entry] }],
    ['a hole', { total: 1, error: 0, entries: Object.assign([], { 1: entry }) }],
    ['an entry by name', { total: 1, error: 0, entries: [{ 0: 'bob', 1: 1, 2: 0, 3: 10, 4: 9 }] }],
    ['a key that is a number', { total: 1, error: 0, entries: [entry, [7, 1, 0, 10, 9]] }],
    ['an entry that is too short', { total: 1, error: 0, entries: [entry, ['cyd', 1, 0, 10]] }],
    ...[1, 2, 3, 4].flatMap((index): [string, unknown][] => {
      return [-1, '1', null, Infinity, 1e300].map((value) => {
        return [`${String(value)} at ${index}`, { total: 1, error: 0, entries: [entry.with(index, value!)] }];
      });
    }),
  ])('ignores %s', (_, value) => {
    expect(isExported(value)).toBe(false);
    expect(merge([value, good, value], 2)).toEqual(merge([good], 2));
  });

  test('reads what any process can have seen, of the greatest costs there are', () => {
    const huge = fill(
      2,
      Array.from({ length: 9 }, () => ['ada', Number.MAX_SAFE_INTEGER, true] as const),
    );
    huge.add('bob', 1, seen());
    const { entries } = merge([sent(huge.export())], 2);
    expect(entries.map(({ key }) => key)).toEqual(['ada', 'bob']);
  });

  test('reads what a later version writes more', () => {
    const more = { ...good, version: 2, entries: good.entries.map((each) => [...each, 'more']) };
    expect(merge([more], 2)).toEqual(merge([good], 2));
  });

  test('never throws, and never tells what is no number', () => {
    const anything = fc.anything({ withSparseArray: true, withNullPrototype: true, withBigInt: true });
    const almost = fc.record(
      {
        total: fc.oneof(fc.nat(), anything),
        error: fc.oneof(fc.nat(), anything),
        entries: fc.oneof(
          fc.array(fc.oneof(fc.tuple(fc.string(), fc.double(), fc.nat(), fc.nat(), fc.nat()), anything)),
          anything,
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(size, fc.array(fc.oneof(anything, almost), { maxLength: 5 }), (most, list) => {
        const { total, error, entries } = merge(list, most);
        const numbers = entries.flatMap((each) => [each.asked, each.denied, each.limit, each.remaining]);
        expect([total, error, ...numbers].every(Number.isFinite)).toBe(true);
        expect(entries.every(({ key }) => typeof key === 'string')).toBe(true);
        expect(entries.length).toBeLessThanOrEqual(most);
      }),
      { numRuns: 500 },
    );
  });
});
