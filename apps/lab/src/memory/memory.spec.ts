import { describe, expect, it } from '@jest/globals';
import { openValkey } from '../place.js';
import { silentProgress } from '../progress.js';
import { keysOf } from '../valkey/valkey.js';
import { memory, memoryTable, type Weights } from './memory.js';

/** The most that a client may weigh, with a key of 24 characters. */
const BUDGETS = {
  'fixed-window': 64,
  'sliding-log': 10_500,
  'sliding-counter': 64,
  'token-bucket': 64,
  'leaky-bucket': 64,
  quota: 64,
};

describe('memory', () => {
  let found: Weights;

  it('weighs every algorithm and the plain layouts under keys of 24 characters', async () => {
    const place = await openValkey(process.env['TEST_VALKEY_URL']);
    const looker = await openValkey(process.env['TEST_VALKEY_URL']);
    try {
      found = await memory(place, silentProgress);
      await place.close();
      expect(await keysOf(looker.client, place.prefix)).toEqual([]); // somebody else's server is left as it was
    } finally {
      await Promise.all([place.close(), looker.close()]);
    }
    expect(found.weights).toHaveLength(10);
    for (const weight of found.weights) {
      expect(weight).toMatchObject({ keyLength: 24, keys: 1 });
      expect(weight.bytes).toBeGreaterThan(24);
    }
  });

  it.each(Object.entries(BUDGETS))('%s is within %d bytes', (algorithm, budget) => {
    // Redis takes 8 bytes more than Valkey for every key, a plain counter's too.
    const counter = bytesOf('plain: one INCR counter');
    expect(bytesOf(algorithm)).toBeLessThanOrEqual(Math.max(budget, counter));
  });

  it('shows what the plain layouts cost beside them', () => {
    expect(bytesOf('plain: one INCR counter')).toBeLessThanOrEqual(
      found.runOn.server.startsWith('valkey') ? 64 : 72,
    );
    expect(bytesOf('plain: hash with tokens and time')).toBeGreaterThan(bytesOf('token-bucket'));
    expect(bytesOf('plain: sorted set, one member per request')).toBeGreaterThan(8 * bytesOf('sliding-log'));
  });

  it('says in its table how long the keys are', () => {
    const printed = memoryTable(found);
    expect(printed).toContain('characters in a key');
    expect(printed).toMatch(/^\| fixed-window +\| \d+ +\| 1 +\| 24 +\|$/m);
  });

  function bytesOf(name: string): number {
    return found.weights.find((weight) => weight.name === name)!.bytes;
  }
});
