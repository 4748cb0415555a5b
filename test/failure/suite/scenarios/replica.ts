import type { Scenario } from '../scenario.js';
import { single } from './single.js';

/** A failover to elsewhere: it must not write any more. */
export const replica: Scenario = {
  name: 'made a replica (READONLY)',
  faultMs: 2_000,
  decides: 'denials',
  says: /READONLY.*name the primary/,
  start: () =>
    single(
      {},
      // Of nobody, so that it keeps what it has.
      ({ admin }) => admin.replicaof('127.0.0.1', 1),
      ({ admin }) => admin.replicaof('NO', 'ONE'),
    ),
};
