import { Redis } from 'iovalkey';
import type { LocalValkey } from '../../../../tools/local-valkey.js';
import { until } from '../../../../tools/until.js';
import type { Victim } from '../scenario.js';

/**
 * A scenario of a primary that is lost, and of its replica that takes its place, in its own time.
 *
 * @param valkey what the applications are told
 * @param rest what has to come about before the replica is the primary for everybody, and how all of them are ended
 */
export function promoted(
  valkey: object,
  { primary, replica }: Readonly<Record<'primary' | 'replica', LocalValkey>>,
  rest: { readonly named?: () => Promise<void>; readonly stop: () => Promise<void> },
): Victim {
  const admin = new Redis(replica.url);
  admin.on('error', () => undefined); // a server that is promoted hangs up
  let promotion: Promise<number> | undefined;
  return {
    valkey,
    harm: async () => {
      primary.kill('SIGKILL');
      await primary.stop();
      promotion = promotedAfter(admin);
      promotion.catch(() => undefined); // whoever mends it hears of it
    },
    mend: async () => {
      const last = await promotion;
      await rest.named?.();
      return last;
    },
    stop: async () => {
      admin.disconnect();
      await rest.stop();
    },
  };
}

/** When it was last seen to be a replica, by `performance.now()`. */
async function promotedAfter(admin: Redis): Promise<number> {
  let last = performance.now();
  await until('the replica is promoted', async () => {
    const asked = performance.now();
    const [role] = (await admin.role()) as [string];
    if (role === 'slave') last = asked;
    return role === 'master';
  });
  return last;
}
