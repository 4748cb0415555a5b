import type { Redis } from 'iovalkey';
import { until } from '../../../../tools/until.js';
import type { Scenario } from '../scenario.js';
import { single } from './single.js';

/** Each key takes 0.3 ms to read, and the server looks after its clients after every 1,024 bytes. */
const SLOW = ['--key-load-delay', '250', '--loading-process-events-interval-bytes', '1024'];
const KEYS = 10_000;

/**
 * It reads all its data anew, as a replica does that has lost touch, and tells everybody that it is loading, on the
 * connections that they have. (Of a server that is started again, the client asks whether it is ready.)
 */
export const loading: Scenario = {
  name: 'LOADING its data for 3 s',
  faultMs: 2_000,
  decides: 'nothing',
  start: () => {
    let reloading: Promise<unknown> | undefined;
    return single(
      { args: SLOW },
      async ({ admin }) => {
        await admin.call('DEBUG', 'POPULATE', KEYS);
        const reload = admin.call('DEBUG', 'RELOAD');
        reload.catch(() => undefined); // whoever mends it hears of it
        await Promise.race([saysLoading(admin), reload]);
        reloading = reload;
      },
      () => reloading,
    );
  },
};

/** Resolves when another connection is told so, which does not ask before it asks. */
async function saysLoading(admin: Redis): Promise<void> {
  const other = admin.duplicate({ enableReadyCheck: false });
  const ask = () => other.get('anything').catch((error: Error) => error.message);
  await until('it says that it is loading', async () => (await ask())?.startsWith('LOADING') ?? false);
  other.disconnect();
}
