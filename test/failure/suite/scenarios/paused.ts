import type { Scenario } from '../scenario.js';
import { single } from './single.js';

const FAULT_MS = 2_000;
/** With what is done at the end of the fault. */
const PAUSE_MS = FAULT_MS + 1_500;

/** It says nothing to anybody, as in a failover; also not to the one who would end the pause. */
export const paused: Scenario = {
  name: 'paused (CLIENT PAUSE ALL)',
  faultMs: FAULT_MS,
  decides: 'nothing',
  says: /no answer within 50 ms/,
  start: () =>
    single(
      {},
      ({ admin }) => admin.call('CLIENT', 'PAUSE', PAUSE_MS, 'ALL'),
      ({ admin }) => admin.ping(),
    ),
};
