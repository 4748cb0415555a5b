import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { ceilDiv, floorDiv } from './integer.js';

const MOST = Number.MAX_SAFE_INTEGER;

const divisor = fc.oneof(
  fc.integer({ min: 1, max: 1_000 }),
  fc.integer({ min: 0, max: 52 }).map((power) => 2 ** power),
  fc.integer({ min: 1, max: MOST }),
);
/** Also those at which a division that rounds would go wrong: multiples, and what is one beside them. */
const pair = divisor.chain((by) =>
  fc.tuple(
    fc.oneof(
      fc.integer({ min: 0, max: MOST }),
      fc
        .tuple(fc.integer({ min: 1, max: Math.floor(MOST / by) }), fc.integer({ min: -1, max: 0 }))
        .map(([times, beside]) => times * by + beside),
    ),
    fc.constant(by),
  ),
);

test('whole quotients are exact below 2^53', () => {
  fc.assert(
    fc.property(pair, ([dividend, by]) => {
      expect(floorDiv(dividend, by)).toBe(Number(BigInt(dividend) / BigInt(by)));
      if (dividend > MOST - by) return;
      expect(ceilDiv(dividend, by)).toBe(Number((BigInt(dividend) + BigInt(by) - 1n) / BigInt(by)));
    }),
    { numRuns: 20_000 },
  );
});
