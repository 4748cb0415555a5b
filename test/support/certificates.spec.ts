import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis, type RedisOptions } from 'iovalkey';
import type { LocalValkey } from '../../tools/local-valkey.js';
import { type Certificates, makeCertificates } from './certificates.js';
import { ownFolder } from './folder.js';
import { ownValkey } from './valkey.js';

let certificates: Certificates;
const clients: Redis[] = [];

beforeAll(async () => {
  certificates = await makeCertificates(await ownFolder());
});

afterEach(() => {
  for (const client of clients.splice(0)) if (client.status !== 'end') client.disconnect();
});

/** The answer to PING, or why there is none. */
async function ping({ port }: LocalValkey, options: RedisOptions): Promise<string> {
  // The client's check for readiness, when it fails, leaves a timer of 2 s behind, which Jest would wait for.
  const once: RedisOptions = { enableReadyCheck: false, retryStrategy: () => null };
  const client = new Redis(port, '127.0.0.1', { ...once, ...options });
  clients.push(client);
  let why = '';
  client.on('error', (error: Error) => (why = error.message));
  return client.ping().catch((error: Error) => why || error.message);
}

describe('certificates', () => {
  test('are signed by their authority, and lie in files too', async () => {
    const { ca, server, client } = certificates;
    for (const { cert, key, certFile, keyFile } of [ca, server, client]) {
      expect(new X509Certificate(cert).verify(new X509Certificate(ca.cert).publicKey)).toBe(true);
      expect(await readFile(certFile, 'utf8')).toBe(cert);
      expect(await readFile(keyFile, 'utf8')).toBe(key);
    }
  });

  test('let a Valkey speak TLS, to those who trust the authority', async () => {
    const valkey = await ownValkey({ tls: certificates.files });
    expect(valkey.url).toBe(`valkeys://127.0.0.1:${valkey.port}`);
    const { cert: ca } = certificates.ca;
    expect(await ping(valkey, { tls: { ca } })).toBe('PONG');
    expect(await ping(valkey, { host: 'localhost', tls: { ca } })).toBe('PONG');
    expect(await ping(valkey, { tls: {} })).toBe('self-signed certificate in certificate chain');
    const stranger = await makeCertificates(await ownFolder());
    expect(await ping(valkey, { tls: { ca: stranger.ca.cert } })).toBe('certificate signature failure');
    expect(await ping(valkey, {})).not.toBe('PONG');
  });

  test('let a Valkey ask for a certificate', async () => {
    const valkey = await ownValkey({ tls: { ...certificates.files, authClients: true } });
    const { cert: ca } = certificates.ca;
    const { cert, key } = certificates.client;
    expect(await ping(valkey, { tls: { ca, cert, key } })).toBe('PONG');
    expect(await ping(valkey, { tls: { ca } })).not.toBe('PONG');
    const stranger = (await makeCertificates(await ownFolder())).client;
    expect(await ping(valkey, { tls: { ca, cert: stranger.cert, key: stranger.key } })).not.toBe('PONG');
  });

  test('that a Valkey cannot read: its own words are in the error', async () => {
    const tls = { ...certificates.files, certFile: '/no/such/file.crt' };
    await expect(ownValkey({ tls })).rejects.toThrow(/ended with code 1.*\/no\/such\/file.crt/s);
  });
});
