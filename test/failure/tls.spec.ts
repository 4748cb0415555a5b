import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createRateLimiter, type RateLimiter, type ValkeyTarget } from 'nestjs-valkey-rate-limit';
import type { LocalValkey } from '../../tools/local-valkey.js';
import { type Certificates, makeCertificates } from '../support/certificates.js';
import { ownFolder } from '../support/folder.js';
import { ownValkey } from '../support/valkey.js';

/** The names of the sample's policies are registered for the whole program; these are others. */
const any = (name: string) => name as never;

describe('over TLS', () => {
  let certificates: Certificates;
  let server: LocalValkey;
  let limiter: RateLimiter;
  let ca: string;
  let tls: { ca: string; cert: string; key: string };

  beforeAll(async () => {
    certificates = await makeCertificates(await ownFolder());
    ca = certificates.ca.cert;
    tls = { ca, cert: certificates.client.cert, key: certificates.client.key };
    // Who shows no certificate is not let in, and neither is who does not know the password.
    const args = ['--requirepass', 'open%sesame'];
    server = await ownValkey({ tls: { ...certificates.files, authClients: true }, args });
  });
  afterEach(() => limiter.close());

  const take = async (valkey: ValkeyTarget, key = 'ada') => {
    limiter = await createRateLimiter({
      valkey,
      policies: { log: { algorithm: 'sliding-log', limit: 100, window: '1h' } },
      deadline: '1s',
      onStoreFailure: 'closed',
    });
    const decision = await limiter.consume(any('log'), { key });
    return decision.outcome === 'unavailable' ? decision.cause.message : decision.outcome;
  };
  const url = (scheme: string, password = 'open%25sesame@') =>
    `${scheme}://${password}localhost:${server.port}/2`;

  test.each(['valkeys', 'rediss'])('%s:// decides, with user, password and database', async (scheme) => {
    expect(await take({ url: url(scheme, ':open%25sesame@'), tls })).toBe('allowed');
    await limiter.close();
    expect(await take({ url: url(scheme, 'default:open%25sesame@'), tls })).toBe('allowed');
  });

  test('who is not trusted, or does not trust, decides nothing and learns why', async () => {
    expect(await take({ url: url('valkeys', ':open%25sesame@'), tls: {} })).toMatch(/certificate/);
    await limiter.close();
    // What the server says before it hangs up may be lost with the connection.
    expect(await take({ url: url('valkeys', ':open%25sesame@'), tls: { ca } })).toMatch(
      /certificate|ECONNRESET|EPIPE/,
    );
    await limiter.close();
    expect(await take({ url: url('valkeys', ':wrong@'), tls })).toMatch(/WRONGPASS/);
    await limiter.close();
    expect(await take(url('valkey', ':open%25sesame@'))).toMatch(/no connection|closed|writeable/);
  });
});
