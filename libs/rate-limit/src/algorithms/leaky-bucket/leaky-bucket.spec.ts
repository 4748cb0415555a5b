import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { toRule } from '../../../testing/asking.js';
import { describeLaws } from '../../../testing/law.js';
import { MemoryStore } from '../../storage/memory/memory-store.js';

const START = 1_000_000_000_000;

describe('leaky-bucket', () => {
  test('each waits for those before it', () => {
    let now = START;
    const store = new MemoryStore(() => now);
    const rule = toRule({ algorithm: 'leaky-bucket', limit: 10, window: '1s', burst: 3 });
    const take = () => store.consume([{ rule, key: 'provider', cost: 1 }]).verdicts[0];
    expect(take()).toMatchObject({ outcome: 'allowed', delayMs: 0, remaining: 2 });
    expect(take()).toMatchObject({ outcome: 'allowed', delayMs: 100, remaining: 1 });
    expect(take()).toMatchObject({ outcome: 'allowed', delayMs: 200, remaining: 0 });
    expect(take()).toMatchObject({ outcome: 'denied', retryAfterMs: 100 });
    now += 150;
    expect(take()).toMatchObject({ outcome: 'allowed', delayMs: 150 });
  });

  test('maxWait refuses what would wait longer, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(200), { maxLength: 40 }),
        fc.nat(500),
        fc.integer({ min: 1, max: 13 }),
        (gaps, maxWait, limit) => {
          let now = START;
          const store = new MemoryStore(() => now);
          const rule = toRule({ algorithm: 'leaky-bucket', limit, window: '1s', burst: 1_000, maxWait });
          const patient = toRule({ algorithm: 'leaky-bucket', limit, window: '1s', burst: 1_000 });
          for (const gap of gaps) {
            now += gap;
            const look = store.consume([{ rule: patient, key: 'provider', cost: 0 }]).verdicts[0]!;
            const wait = look.outcome === 'allowed' ? look.delayMs : NaN;
            const { outcome } = store.consume([{ rule, key: 'provider', cost: 1 }]).verdicts[0]!;
            expect(outcome).toBe(wait <= maxWait ? 'allowed' : 'denied');
          }
        },
      ),
    );
  });

  test('what comes out is never faster than the limit, in any window', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(300), { minLength: 20, maxLength: 80 }),
        fc.integer({ min: 1, max: 7 }),
        (gaps, limit) => {
          let now = START;
          const store = new MemoryStore(() => now);
          const rule = toRule({ algorithm: 'leaky-bucket', limit, window: '1s', burst: 50 });
          const out: number[] = [];
          for (const gap of gaps) {
            now += gap;
            const verdict = store.consume([{ rule, key: 'provider', cost: 1 }]).verdicts[0]!;
            if (verdict.outcome === 'allowed') out.push(now + verdict.delayMs);
          }
          for (const from of out) {
            expect(out.filter((at) => at >= from && at < from + 1_000).length).toBeLessThanOrEqual(limit);
          }
        },
      ),
    );
  });
});

describeLaws(
  'leaky-bucket',
  fc.record(
    {
      algorithm: fc.constant('leaky-bucket' as const),
      limit: fc.oneof(fc.nat(12), fc.nat(100_000)),
      window: fc.oneof(
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 60_000 }),
        fc.constant('365d' as const),
      ),
      burst: fc.nat(20),
      maxWait: fc.nat(100_000),
    },
    { requiredKeys: ['algorithm', 'limit', 'window'] },
  ),
  { typical: { algorithm: 'leaky-bucket', limit: 1_000, window: '1h' }, bytes: 64 },
);
