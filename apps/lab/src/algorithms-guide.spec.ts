import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { createRateLimiter, definePolicies } from 'nestjs-valkey-rate-limit';
import { compare, comparisonTable } from './compare.js';
import { openMemory } from './place.js';
import { ALGORITHMS } from './policies.js';
import { silentProgress } from './progress.js';

const guide = await readFile(new URL('../../../docs/algorithms.md', import.meta.url), 'utf8');
const examples = [...guide.matchAll(/^```(?:ts|js)\n(.*?)^```$/gms)].map(([, code]) => code!);

describe('docs/algorithms.md', () => {
  it.each(examples)('this example works: %s', async (code) => {
    const read = new Function('definePolicies', `${code}; return policies;`);
    const policies = read(definePolicies) as ReturnType<typeof definePolicies>;
    const limiter = await createRateLimiter({ policies });
    try {
      const names = Object.keys(policies);
      expect(names).not.toEqual([]);
      for (const name of names) {
        const { outcome } = await limiter.consume(name as never, { key: 'reader' });
        expect(outcome).toBe('allowed');
      }
    } finally {
      await limiter.close();
    }
  });

  it.each(ALGORITHMS)('explains %s, with its picture and an example', (algorithm) => {
    const [, section] = guide.split(`\n## ${algorithm}\n`);
    expect(section).toBeDefined();
    expect(section).toContain(`](pictures/${algorithm}.svg)`);
    expect(section!.split('\n## ')[0]).toContain(`algorithm: '${algorithm}'`);
  });

  it('shows the table that compare prints', async () => {
    const printed = comparisonTable(await compare(openMemory(), silentProgress));
    // What it is run on follows after an empty line.
    const [table] = printed.split('\n\n');
    expect(guide).toContain(table);
  });
});
