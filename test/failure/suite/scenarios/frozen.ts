import type { Scenario } from '../scenario.js';
import { single } from './single.js';

/** Connections stay open, and nothing answers. */
export const frozen: Scenario = {
  name: 'frozen for 10 s (SIGSTOP)',
  faultMs: 10_000,
  decides: 'nothing',
  says: /no answer within 50 ms/,
  start: () =>
    single(
      {},
      ({ server }) => server.kill('SIGSTOP'),
      ({ server }) => server.kill('SIGCONT'),
    ),
};
