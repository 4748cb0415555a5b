import { describe, expect, it } from '@jest/globals';
import { openValkey } from '../place.js';
import { ALGORITHMS } from '../policies.js';
import { silentProgress } from '../progress.js';
import { race } from './race.js';

describe('race', () => {
  it('lets all through that read before they write, and exactly the limit by the script', async () => {
    const place = await openValkey(process.env['TEST_VALKEY_URL']);
    try {
      const { heats } = await race(place, silentProgress);
      const small = { requests: 50, processes: 1, limit: 10 };
      const large = { requests: 2_000, processes: 4, limit: 100 };
      expect(heats).toEqual([
        { how: 'read-then-write', ...small, allowed: 50 },
        ...ALGORITHMS.map((how) => ({ how, ...small, allowed: 10 })),
        ...ALGORITHMS.map((how) => ({ how, ...large, allowed: 100 })),
      ]);
    } finally {
      await place.close();
    }
  });
});
