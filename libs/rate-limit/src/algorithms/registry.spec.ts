import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { describeTwins } from '../../testing/twins.js';
import { type AlgorithmOptions, algorithms } from './index.js';

describe('the registry', () => {
  test.each(Object.keys(algorithms))('%s is held to the laws by the spec in its folder', async (name) => {
    const spec = await readFile(new URL(`./${name}/${name}.spec.ts`, import.meta.url), 'utf8');
    expect(spec).toMatch(new RegExp(`describeLaws\\(\\s*'${name}'`));
  });

  test('no two algorithms have one id, as their keys would meet', () => {
    const ids = Object.values(algorithms).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describeTwins(
  'every mix of algorithms in one call',
  fc
    .record({ limit: fc.nat(10), window: fc.integer({ min: 1, max: 30_000 }) })
    .chain(({ limit, window }) =>
      fc.constantFrom<AlgorithmOptions>(
        { algorithm: 'fixed-window', limit, window },
        { algorithm: 'sliding-log', limit, window },
        { algorithm: 'sliding-counter', limit, window },
        { algorithm: 'token-bucket', limit, window },
        { algorithm: 'leaky-bucket', limit, window, maxWait: 1_000 },
        { algorithm: 'quota', limit, period: 'hour' },
        { algorithm: 'concurrency', limit, lease: window },
      ),
    ),
);
