import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { openMemory } from '../place.js';
import { RATE_ALGORITHMS, type RateAlgorithm } from '../policies.js';
import { silentProgress } from '../progress.js';
import { parseShare } from './commands.js';
import { parseKey } from './key-option.js';
import { parsePolicies } from './policy-option.js';
import { replay } from './replay.js';
import { openSources } from './source.js';
import { suggest, type Suggestion } from './suggest.js';
import { suggestionTable } from './suggest-table.js';
import { wilson } from './wilson.js';

const BASE = 1_772_366_400_000;
type Traffic = readonly (readonly [ms: number, client: number])[];

describe('suggest', () => {
  let folder: string;
  let file: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lab-suggest-'));
    file = join(folder, 'log.json');
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  const write = (traffic: Traffic) =>
    writeFile(file, traffic.map(([ms, ip]) => `${JSON.stringify({ time: BASE + ms, ip })}\n`).join(''));

  const suggested = async (
    algorithm: RateAlgorithm,
    refusePercent: number,
    mostClients = 1_000,
  ): Promise<Suggestion> => {
    const options = { key: parseKey('ip'), fields: {}, algorithm, window: '10s', refusePercent, mostClients };
    return suggest(openMemory(), silentProgress, await openSources([file]), options);
  };

  const refusedBy = async (algorithm: RateAlgorithm, limit: number): Promise<number> => {
    const policies = parsePolicies([`p=${algorithm}:${limit}/10s`]);
    const options = { key: parseKey('ip'), fields: {}, policies, mostClients: 1_000 };
    return (await replay(openMemory(), silentProgress, await openSources([file]), options)).policies[0]!
      .clientsRefused;
  };

  it.each(RATE_ALGORITHMS)('%s: refuses at most the share, and one less refuses more', async (algorithm) => {
    const gap = fc.integer({ min: 0, max: 4_000 });
    const traffic = fc.array(fc.tuple(gap, fc.nat(5)), { minLength: 1, maxLength: 120 });
    await fc.assert(
      fc.asyncProperty(traffic, fc.constantFrom(0, 20, 50, 90), async (gaps, share) => {
        let at = 0;
        await write(gaps.map(([ms, client]) => [(at += ms), client] as const));
        const { limit, clients, refused, refusedByOneLess } = await suggested(algorithm, share);
        expect(await refusedBy(algorithm, limit)).toBe(refused);
        expect(refused * 100).toBeLessThanOrEqual(share * clients);
        expect(limit).toBeGreaterThan(0);
        expect(await refusedBy(algorithm, limit - 1)).toBe(refusedByOneLess);
        expect(refusedByOneLess! * 100).toBeGreaterThan(share * clients);
      }),
      { numRuns: 25 },
    );
  });

  it('says how sure it is', async () => {
    await write(Array.from({ length: 100 }, (_, index) => [index * 10, index % 20] as const));
    const text = suggestionTable(await suggested('fixed-window', 1));
    expect(text).toContain('| fixed-window:5/10s | 0 of 20 (0 %)');
    expect(text).toContain('| fixed-window:4/10s | 20 of 20 (100 %)');
    expect(text).toContain('it would refuse between 0 % and 16.1 %');
    expect(text).toContain(
      '20 clients are too few for 1 %: the limit is what the busiest of them needs. It takes 100.',
    );
    expect(text).toContain('The log is 990 ms long');
    expect(suggestionTable(await suggested('fixed-window', 1, 10))).toContain('It is not exact');
  });

  it('says what is too much for a sliding-log', async () => {
    await write(Array.from({ length: 10_050 }, () => [0, 1] as const));
    await expect(suggested('sliding-log', 0)).rejects.toThrow(
      'limits up to 10000, and 1 clients need more in 10s',
    );
  });

  it('needs a file', async () => {
    const options = { key: parseKey('ip'), fields: {}, algorithm: 'token-bucket', window: '1m' } as const;
    const sources = await openSources(['-'], Readable.from([]));
    const asked = suggest(openMemory(), silentProgress, sources, {
      ...options,
      refusePercent: 1,
      mostClients: 1_000,
    });
    await expect(asked).rejects.toThrow(
      'the standard input can be read once. Save it to a file and name that.',
    );
  });
});

it('a share is in percent', () => {
  expect(['1%', '0.5 %', '0%', '99.9%'].map(parseShare)).toEqual([1, 0.5, 0, 99.9]);
  for (const wrong of ['1', '0.01', '100%', '-1%', '%', 'few'])
    expect(() => parseShare(wrong)).toThrow('--refuse');
});

it("the range of a share is Wilson's", () => {
  // Newcombe 1998, table I: 81 of 263 and 0 of 20.
  const { low, high } = wilson(81, 263);
  expect([low.toFixed(4), high.toFixed(4)]).toEqual(['0.2553', '0.3662']);
  expect(wilson(0, 20).low).toBe(0);
  expect(wilson(0, 20).high).toBeCloseTo(0.1611, 3);
});
