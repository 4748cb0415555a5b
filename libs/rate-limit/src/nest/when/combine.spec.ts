import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { context } from '../../../testing/context.js';
import { RateLimitConfigError } from '../../decision/config-error.js';
import { key } from '../key.js';
import { when } from '../when.js';
import type { Predicate } from './predicate.js';

const its = context({ ip: '10.1.2.3' });
const yes = () => true;
const no = () => false;
const later = (answer: boolean) => () => Promise.resolve(answer);
const unasked = () => {
  throw new Error('asked for nothing');
};

describe('any', () => {
  test('is yes when one of them is', () => {
    expect(when.any(yes)(its)).toBe(true);
    expect(when.any(no)(its)).toBe(false);
    expect(when.any(no, no, yes)(its)).toBe(true);
    expect(when.any(no, no, no)(its)).toBe(false);
  });

  test('asks none after the one that says yes', async () => {
    expect(when.any(no, yes, unasked)(its)).toBe(true);
    await expect(when.any(no, later(true), unasked)(its)).resolves.toBe(true);
  });

  test('puts together whatever there is', () => {
    const staff = when.any(when.network('10.0.0.0/8'), ({ request }) => request['user']?.isStaff);
    expect(staff(its)).toBe(true);
    expect(staff(context({ ip: '11.1.2.3', user: { isStaff: true } }))).toBe(true);
    expect(staff(context({ ip: '11.1.2.3', user: {} }))).toBe(false);
    expect(staff(context({ ip: '11.1.2.3' }))).toBe(false);
  });
});

describe('all', () => {
  test('is yes when every one of them is', () => {
    expect(when.all(yes)(its)).toBe(true);
    expect(when.all(no)(its)).toBe(false);
    expect(when.all(yes, yes, yes)(its)).toBe(true);
    expect(when.all(yes, yes, no)(its)).toBe(false);
  });

  test('asks none after the one that says no', async () => {
    expect(when.all(yes, no, unasked)(its)).toBe(false);
    await expect(when.all(yes, later(false), unasked)(its)).resolves.toBe(false);
  });
});

describe('not', () => {
  test('is the contrary', async () => {
    expect(when.not(yes)(its)).toBe(false);
    expect(when.not(no)(its)).toBe(true);
    await expect(when.not(later(true))(its)).resolves.toBe(false);
    await expect(when.not(later(false))(its)).resolves.toBe(true);
  });

  test('of a network is also everybody whose address is not known', () => {
    const outside = when.not(when.network('10.0.0.0/8'));
    expect(outside(its)).toBe(false);
    expect(outside(context({ ip: '11.1.2.3' }))).toBe(true);
    expect(outside(context({}))).toBe(true);
  });
});

describe('what is asynchronous', () => {
  test('is waited for: a promise of no is no', async () => {
    await expect(when.any(later(false))(its)).resolves.toBe(false);
    await expect(when.any(later(false), no, later(false))(its)).resolves.toBe(false);
    await expect(when.any(later(false), yes)(its)).resolves.toBe(true);
    await expect(when.all(later(true), yes, later(true))(its)).resolves.toBe(true);
  });

  test('is not waited for where nobody has to ask it', () => {
    expect(when.any(yes, later(false))(its)).toBe(true);
    expect(when.all(no, later(true))(its)).toBe(false);
  });

  test('is asked one after another', async () => {
    const asked: string[] = [];
    const slow = (name: string) => async () => {
      asked.push(`${name} asked`);
      await new Promise((resolve) => setImmediate(resolve));
      asked.push(`${name} told`);
      return false;
    };
    await when.any(slow('one'), slow('two'))(its);
    expect(asked).toEqual(['one asked', 'one told', 'two asked', 'two told']);
  });
});

type Tree = { readonly leaf: boolean; readonly waits: boolean } | readonly ['any' | 'all' | 'not', ...Tree[]];

const isLeaf = (tree: Tree): tree is Extract<Tree, { leaf: boolean }> => 'leaf' in tree;

/** A tree as a predicate, and as plain logic. */
function build(tree: Tree): Predicate {
  if (isLeaf(tree)) return tree.waits ? later(tree.leaf) : () => tree.leaf;
  const [name, first, ...others] = tree;
  if (name === 'not') return when.not(build(first!));
  return when[name](build(first!), ...others.map(build));
}

function truth(tree: Tree): boolean {
  if (isLeaf(tree)) return tree.leaf;
  const [name, ...parts] = tree;
  if (name === 'not') return !truth(parts[0]!);
  return name === 'any' ? parts.some(truth) : parts.every(truth);
}

/** Whether something has to be waited for, as the operators of the language would find out. */
function waits(tree: Tree): boolean {
  if (isLeaf(tree)) return tree.waits;
  const [name, ...parts] = tree;
  const decisive = name === 'any';
  for (const part of parts) {
    if (waits(part)) return true;
    if (name !== 'not' && truth(part) === decisive) return false;
  }
  return false;
}

test('however deep they are nested, they say what logic says, and are waited for only where something is', async () => {
  const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.record({ leaf: fc.boolean(), waits: fc.boolean() }),
      fc
        .tuple(
          fc.constantFrom('any' as const, 'all' as const),
          fc.array(tie('tree'), { minLength: 1, maxLength: 3 }),
        )
        .map(([name, parts]): Tree => [name, ...parts]),
      tie('tree').map((part): Tree => ['not', part]),
    ),
  }));
  await fc.assert(
    fc.asyncProperty(tree, async (whole) => {
      const answer = build(whole)(its);
      expect(answer instanceof Promise).toBe(waits(whole));
      expect(await answer).toBe(truth(whole));
    }),
    { numRuns: 500 },
  );
});

test('what they need is what their parts need together', () => {
  const office = when.network('10.0.0.0/8');
  const tenant = when.key(key.tenant(), ['evil']);
  const user = when.key(key.user(), ['eve']);
  const secret = when.key(key.apiKey(), []);
  const none = { needs: [], hashes: false, own: false, head: false };
  for (const [asked, traits] of [
    [when.any(office), { ...none, head: true }],
    [when.any(office, secret), { ...none, head: true, hashes: true }],
    [when.all(tenant, office, user, tenant), { ...none, needs: ['tenant', 'user'] }],
    [when.any(office, yes), { ...none, own: true }],
    [when.not(when.any(office, when.all(tenant, yes))), { ...none, needs: ['tenant'], own: true }],
    [when.not(office), { ...none, head: true }],
    [when.any(Object.assign(() => true, { needs: ['plan'] as const })), { ...none, needs: ['plan'] }],
  ] as const) {
    const { needs, hashes, own, head } = asked;
    expect({ needs, hashes, own, head }).toEqual(traits);
  }
  expect(Object.keys(yes)).toEqual([]);
});

describe('what is refused', () => {
  const anyOf = when.any as (...parts: unknown[]) => unknown;
  const allOf = when.all as (...parts: unknown[]) => unknown;
  const notOf = when.not as (...parts: unknown[]) => unknown;

  test.each([
    ['when.any()', () => anyOf(), 'not undefined.'],
    ['when.all()', () => allOf(), 'not undefined.'],
    ['when.not()', () => notOf(), 'not undefined.'],
    ['when.any()', () => anyOf(yes, 'yes'), 'not "yes" (a string).'],
    ['when.any()', () => anyOf([yes]), 'not an array.'],
    ['when.any()', () => anyOf(yes, true), 'not true.'],
    ['when.all()', () => allOf(null, yes), 'not null.'],
    ['when.not()', () => notOf('10.0.0.0/8'), 'not "10.0.0.0/8" (a string).'],
  ])('at once, with what is wrong: %s', (where, make, got) => {
    expect(make).toThrow(RateLimitConfigError);
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID_PREDICATE', where }));
    expect(make).toThrow(got);
  });

  test('when it is asked: an answer that is neither yes nor no', async () => {
    const one = (() => 1) as unknown as Predicate;
    for (const [where, asked] of [
      ['when.any()', when.any(no, one)],
      ['when.all()', when.all(yes, one)],
      ['when.not()', when.not(one)],
    ] as const) {
      expect(() => asked(its)).toThrow(expect.objectContaining({ code: 'INVALID_ANSWER', where }));
    }
    await expect(when.any(later(false), one)(its)).rejects.toMatchObject({ code: 'INVALID_ANSWER' });
  });

  test('what fails fails, and nobody after it is asked', async () => {
    const fails = () => {
      throw new Error('no such list');
    };
    expect(() => when.any(no, fails, unasked)(its)).toThrow('no such list');
    await expect(when.any(later(false), fails, unasked)(its)).rejects.toThrow('no such list');
  });
});
