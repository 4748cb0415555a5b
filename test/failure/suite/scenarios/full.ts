import type { Scenario } from '../scenario.js';
import { single } from './single.js';

/** It can write nothing more, but still knows whose limit is used up. */
export const full: Scenario = {
  name: 'memory full (noeviction)',
  faultMs: 2_000,
  decides: 'denials',
  says: /OOM.*raise maxmemory/,
  start: () =>
    single(
      { args: ['--maxmemory-policy', 'noeviction'] },
      ({ admin }) => admin.config('SET', 'maxmemory', '1'),
      ({ admin }) => admin.config('SET', 'maxmemory', '0'),
    ),
};
