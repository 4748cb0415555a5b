import { Redis } from 'iovalkey';
import { type LocalValkey, type LocalValkeyOptions, startValkey } from '../../../../tools/local-valkey.js';
import type { Victim } from '../scenario.js';

/** A server that keeps running, and a connection through which it is harmed and mended. */
export interface Single {
  readonly server: LocalValkey;
  readonly admin: Redis;
}

/**
 * A scenario of one server that is not restarted: what is done to it, and what undoes it.
 *
 * @param password the one that it wants
 */
export async function single(
  options: LocalValkeyOptions,
  harm: (single: Single) => unknown,
  mend: (single: Single) => unknown,
  password?: string,
): Promise<Victim> {
  const server = await startValkey(options);
  const valkey = password === undefined ? server.url : server.url.replace('//', `//:${password}@`);
  const admin = new Redis(valkey);
  admin.on('error', () => undefined); // a server that is harmed tells its own connections too
  const one = { server, admin };
  return {
    valkey,
    harm: async () => void (await harm(one)),
    mend: async () => void (await mend(one)),
    stop: async () => {
      admin.disconnect();
      await server.stop();
    },
  };
}
