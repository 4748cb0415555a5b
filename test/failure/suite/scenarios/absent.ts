import type { Scenario } from '../scenario.js';
import { restarted } from './restarted.js';

/** The applications start first. */
export const absent: Scenario = {
  name: 'not there at boot, started later',
  faultMs: 1_500,
  decides: 'nothing',
  says: /ECONNREFUSED.*Is it running/,
  atBoot: true,
  start: () => restarted(),
};
