import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startValkey } from '../../../../tools/local-valkey.js';
import { type Certificates, makeCertificates } from '../../../support/certificates.js';
import type { Scenario, Victim } from '../scenario.js';
import { restarted } from './restarted.js';

/** It comes back as a Valkey that is only a cache: everybody has the whole limit again. */
const killed: Scenario = {
  name: 'TLS: killed, started again empty',
  faultMs: 2_000,
  decides: 'nothing',
  forgets: 'everything',
  start: () =>
    certified(async ({ ca, files }) => {
      const victim = await restarted({ tls: files });
      return { ...victim, valkey: over(new URL(victim.valkey).port, ca.cert) };
    }),
};

/** Longer than the client waits for an answer and then for a connection: it takes them, but shakes no hands. */
const frozen: Scenario = {
  name: 'TLS: frozen for 3 s (SIGSTOP)',
  faultMs: 3_000,
  decides: 'nothing',
  says: /no answer within 50 ms/,
  start: () =>
    certified(async ({ ca, files }) => {
      const server = await startValkey({ tls: files });
      return {
        valkey: over(server.port, ca.cert),
        harm: async () => server.kill('SIGSTOP'),
        mend: async () => server.kill('SIGCONT'),
        stop: () => server.stop(),
      };
    }),
};

export const tls: readonly Scenario[] = [killed, frozen];

/** A victim with certificates of its own, which are gone when it has stopped. */
async function certified(start: (certificates: Certificates) => Promise<Victim>): Promise<Victim> {
  const folder = await mkdtemp(join(tmpdir(), 'certificates-'));
  const victim = await start(await makeCertificates(folder));
  return {
    ...victim,
    stop: async () => {
      await victim.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function over(port: number | string, ca: string) {
  return { url: `valkeys://localhost:${port}`, tls: { ca } };
}
