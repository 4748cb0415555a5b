import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { key } from '../key.js';
import type { KeyNeed, KeyResolver } from './resolver.js';

const needsOf = ({ needs = [] }: KeyResolver) => needs;
const mine = () => 'me';

/** A key, and what it needs. */
type Node = [KeyResolver, KeyNeed[]];

describe('what a key needs', () => {
  test('is said by those that ask who the client is', () => {
    expect(needsOf(key.user())).toEqual(['user']);
    expect(needsOf(key.tenant())).toEqual(['tenant']);
  });

  test('is nothing for what stands in the request', () => {
    const others = [key.ip(), key.header('x'), key.body('x'), key.param('x'), key.route(), key.global()];
    for (const resolver of [...others, key.apiKey(), mine as KeyResolver]) {
      expect(needsOf(resolver)).toEqual([]);
    }
  });

  test.each(['join', 'firstOf'] as const)('is, for %s, what its parts need together, once each', (name) => {
    const combine = key[name];
    expect(needsOf(combine(key.user(), key.ip(), key.user()))).toEqual(['user']);
    expect(needsOf(combine(key.ip(), mine))).toEqual([]);
    const nested = combine(key.join(key.ip(), key.tenant()), key.firstOf(key.user(), key.tenant()));
    expect(needsOf(nested).toSorted()).toEqual(['tenant', 'user']);
  });

  test('is the union however deep they are nested', () => {
    const leaf: fc.Arbitrary<Node> = fc.constantFrom(
      [key.user(), ['user']],
      [key.tenant(), ['tenant']],
      [key.ip(), []],
      [mine, []],
    );
    const { tree } = fc.letrec<{ tree: Node }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc
          .tuple(fc.constantFrom('join' as const, 'firstOf' as const), tie('tree'), tie('tree'))
          .map(([name, [one, first], [two, second]]): Node => [key[name](one, two), [...first, ...second]]),
      ),
    }));
    fc.assert(
      fc.property(tree, ([resolver, expected]) => {
        expect(needsOf(resolver).toSorted()).toEqual([...new Set(expected)].toSorted());
      }),
    );
  });
});

test('that a secret is hashed is known of a key, and of what it is part of', () => {
  expect(key.apiKey().hashes).toBe(true);
  expect(key.join(key.ip(), key.firstOf(key.apiKey(), key.user())).hashes).toBe(true);
  expect(key.join(key.ip(), mine).hashes).toBe(false);
});
