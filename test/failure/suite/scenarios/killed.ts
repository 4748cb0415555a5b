import type { Scenario } from '../scenario.js';
import { restarted } from './restarted.js';

/** Its scripts are gone, as always, but it wrote down what it counted before it said so. */
export const killed: Scenario = {
  name: 'killed (SIGKILL), started again',
  faultMs: 2_000,
  decides: 'nothing',
  start: () => restarted({ args: ['--appendonly', 'yes', '--appendfsync', 'no'] }),
};
