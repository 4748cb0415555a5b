import type { Scenario } from '../scenario.js';
import { absent } from './absent.js';
import { clusters } from './cluster.js';
import { flushed } from './flushed.js';
import { frozen } from './frozen.js';
import { full } from './full.js';
import { killed } from './killed.js';
import { loading } from './loading.js';
import { networks } from './network.js';
import { password } from './password.js';
import { paused } from './paused.js';
import { replica } from './replica.js';
import { sentinel } from './sentinel.js';
import { tls } from './tls.js';

/** In the order of the table. */
export const scenarios: readonly Scenario[] = [
  killed,
  absent,
  frozen,
  paused,
  loading,
  full,
  replica,
  password,
  flushed,
  ...networks,
  ...tls,
  sentinel,
  ...clusters,
];
