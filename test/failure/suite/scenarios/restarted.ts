import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalValkeyOptions, startValkey } from '../../../../tools/local-valkey.js';
import type { Victim } from '../scenario.js';

/**
 * A scenario of one server that is killed and started again, on the same port and in the same folder.
 *
 * @param options the server's, both times
 */
export async function restarted(
  options: Pick<LocalValkeyOptions, 'args' | 'tls'> = {},
): Promise<Victim & { readonly valkey: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'worst-day-'));
  let server = await startValkey({ ...options, dir });
  const { url, port } = server;
  return {
    valkey: url,
    harm: async () => {
      server.kill('SIGKILL');
      await server.stop();
    },
    mend: async () => {
      server = await startValkey({ ...options, dir, port });
    },
    stop: async () => {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
