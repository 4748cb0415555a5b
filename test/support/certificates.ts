import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import type { TlsFiles } from '../../tools/local-valkey.js';

/** A certificate with its private key, as PEM texts and where those lie. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Certificates {
  readonly ca: Certificate;
  /** For 127.0.0.1 and localhost. */
  readonly server: Certificate;
  readonly client: Certificate;
  /** For `startValkey({ tls })`. */
  readonly files: TlsFiles;
}

type Options = NonNullable<Parameters<typeof generate>[1]>;

/**
 * A certificate authority of its own, and what it has signed for a server and a client. The files lie in `folder`, and
 * stay there.
 */
export async function makeCertificates(folder: string): Promise<Certificates> {
  await mkdir(folder, { recursive: true });
  const ca = await make(folder, 'ca', {
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  });
  const server = await make(folder, 'server', {
    ca,
    extensions: [
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  const client = await make(folder, 'client', {
    ca,
    extensions: [{ name: 'extKeyUsage', clientAuth: true }],
  });
  const files = { certFile: server.certFile, keyFile: server.keyFile, caFile: ca.certFile };
  return { ca, server, client, files };
}

async function make(folder: string, name: string, options: Options): Promise<Certificate> {
  // Elliptic keys are made at once, where RSA's take a while.
  const shared: Options = { keyType: 'ec', algorithm: 'sha256' };
  const made = await generate([{ name: 'commonName', value: `test ${name}` }], { ...shared, ...options });
  const certFile = join(folder, `${name}.crt`);
  const keyFile = join(folder, `${name}.key`);
  await writeFile(certFile, made.cert);
  await writeFile(keyFile, made.private, { mode: 0o600 });
  return { cert: made.cert, key: made.private, certFile, keyFile };
}
