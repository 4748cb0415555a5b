import type { Scenario } from '../scenario.js';
import { single } from './single.js';

const secret = 'the-old-one';

/** Somebody has changed it, and the applications do not know yet. */
export const password: Scenario = {
  name: 'password changed',
  faultMs: 2_000,
  decides: 'nothing',
  start: () =>
    single(
      { args: ['--requirepass', secret] },
      async ({ admin }) => {
        await admin.config('SET', 'requirepass', 'the-new-one');
        await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      },
      ({ admin }) => admin.config('SET', 'requirepass', secret),
      secret,
    ),
};
