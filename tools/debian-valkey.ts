import { join } from 'node:path';
import { unpackedPackage } from './debian-package.js';

/** The Valkey of this Debian or Ubuntu, unpacked below `.valkey/` in the checkout. */
export async function unpackedValkey() {
  const { root, env, origin } = await unpackedPackage({
    name: 'Valkey',
    // In Debian valkey-server is a link to a binary of valkey-tools, which also brings valkey-cli.
    packages: ['valkey-server', 'valkey-tools'],
    folder: '.valkey',
    backports: true,
    releases: 'Debian 12, Ubuntu 24.04 or newer',
  });
  return { command: join(root, 'usr/bin/valkey-server'), args: [], env, origin };
}
