import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'iovalkey';
import type { Scenario } from '../scenario.js';
import { single } from './single.js';

const EVERY_MS = 20;

/** Its scripts are thrown away again and again, which nobody is to notice. */
export const flushed: Scenario = {
  name: 'SCRIPT FLUSH, again and again',
  faultMs: 1_000,
  decides: 'everything',
  deadlineMs: 5_000,
  burst: true,
  start: () => {
    const mended = new AbortController();
    let flushing = Promise.resolve(0);
    return single(
      {},
      ({ admin }) => {
        flushing = flush(admin, mended.signal);
        flushing.catch(() => undefined); // whoever mends it hears of it
      },
      async () => {
        mended.abort();
        const times = await flushing;
        if (times < 20) throw new Error(`The scripts were thrown away only ${times} times.`);
      },
    );
  },
};

/** Resolves with how often it was done. */
async function flush(admin: Redis, until: AbortSignal): Promise<number> {
  let times = 0;
  for (; !until.aborted; times += 1) {
    await admin.script('FLUSH', 'SYNC');
    await sleep(EVERY_MS);
  }
  return times;
}
