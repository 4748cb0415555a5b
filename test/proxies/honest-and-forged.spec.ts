import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { adapters } from '../support/app.js';
import { chainTo, hasAddress, proxyTo, REPLACE } from '../support/proxies.js';
import { ADA, countedFor, EVE, INNER, OUTER, startCounting, statusesFor } from './counting.js';

/** What Eve claims in X-Forwarded-For, to escape her own limit or to use up Ada's. */
const FORGED: readonly (string | string[])[] = [
  ADA,
  '6.6.6.6',
  '6.6.6.6, 7.7.7.7',
  `6.6.6.6,${ADA}`,
  OUTER,
  INNER,
  `${ADA}, ${INNER}`,
  `${ADA}, ${OUTER}, ${INNER}`,
  '127.0.0.1',
  '::1',
  '2001:db8::1',
  `::ffff:${ADA}`,
  `${ADA}:5555`,
  `"${ADA}"`,
  'unknown',
  'garbage',
  '',
  ',',
  ' , ,',
  `${ADA},`,
  `${ADA}, `.repeat(200),
  [ADA, '6.6.6.6'],
  ['6.6.6.6', `${ADA}, ${INNER}`, ''],
];

/** What else tells of an address somewhere. */
const OTHER_FIELDS = {
  forwarded: `for=${ADA}`,
  'x-real-ip': ADA,
  'x-client-ip': ADA,
  'true-client-ip': ADA,
  'cf-connecting-ip': ADA,
  'x-forwarded': ADA,
  'x-cluster-client-ip': ADA,
};

const chains = [
  ['one hop', [INNER]],
  ['two hops', [OUTER, INNER]],
] as const;

const [here, hasIPv6] = await Promise.all([hasAddress(OUTER), hasAddress('::1')]);

(here ? describe : describe.skip).each(
  adapters.flatMap((adapter) => chains.map(([hops, proxies]) => [hops, adapter, proxies] as const)),
)('behind nginx, %s, %s counts', (_, adapter, proxies) => {
  const start = async () => {
    const app = await startCounting(adapter, { trustProxy: [...proxies] });
    return chainTo(app.url, proxies);
  };

  test('clients apart, by their own addresses', async () => {
    const url = await start();
    expect(await countedFor(ADA, url)).toBe(ADA);
    expect(await statusesFor(ADA, url, 2)).toEqual([200, 429]);
    expect(await statusesFor(EVE, url, 3)).toEqual([200, 200, 429]);
  });

  test('whoever forges X-Forwarded-For, all the same: nobody escapes a limit', async () => {
    const url = await start();
    expect(await statusesFor(EVE, url, 2)).toEqual([200, 200]);
    for (const forged of FORGED) {
      const headers = { 'x-forwarded-for': forged };
      expect([forged, await countedFor(EVE, url, headers)]).toEqual([forged, EVE]);
      expect(await statusesFor(EVE, url, 1, headers)).toEqual([429]);
    }
  });

  test("whoever forges X-Forwarded-For, all the same: nobody fills another's bucket", async () => {
    const url = await start();
    for (const forged of FORGED) await statusesFor(EVE, url, 1, { 'x-forwarded-for': forged });
    expect(await statusesFor(ADA, url, 3)).toEqual([200, 200, 429]);
  });

  test('the same client, whatever X-Forwarded-For says', async () => {
    const url = await start();
    const character = fc.constantFrom(...'0123456789abcdef.:,, []"%/gX\t\u00e9');
    const entry = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.constantFrom(ADA, OUTER, INNER),
      fc.string({ unit: character, maxLength: 20 }),
    );
    const forged = fc.array(entry, { maxLength: 6 }).map((entries) => entries.join(', '));
    await fc.assert(
      fc.asyncProperty(forged, async (text) => {
        expect(await countedFor(EVE, url, { 'x-forwarded-for': text })).toBe(EVE);
      }),
      { numRuns: 50 },
    );
  });

  test('no other field that tells of an address', async () => {
    const url = await start();
    expect(await countedFor(EVE, url, OTHER_FIELDS)).toBe(EVE);
  });

  (hasIPv6 ? test : test.skip)('a client that comes by IPv6, by its network', async () => {
    const app = await startCounting(adapter, { trustProxy: [...proxies] });
    const behindFirst = await chainTo(app.url, proxies.slice(1));
    const { port } = await proxyTo(behindFirst, { address: proxies[0], alsoAt: '::1' });
    const url = `http://[::1]:${port}`;
    expect(await countedFor('::1', url)).toBe('0:0:0:0::/64');
    expect(await countedFor('::1', url, { 'x-forwarded-for': ADA })).toBe('0:0:0:0::/64');
    expect(await statusesFor('::1', url, 1)).toEqual([429]);
    expect(await statusesFor(ADA, `http://${proxies[0]}:${port}`, 3)).toEqual([200, 200, 429]);
  });

  test('the same when the first proxy passes nothing on of what clients claim', async () => {
    const app = await startCounting(adapter, { trustProxy: [...proxies] });
    const behindFirst = await chainTo(app.url, proxies.slice(1));
    const { url } = await proxyTo(behindFirst, { address: proxies[0], says: REPLACE });
    for (const forged of FORGED) {
      expect(await countedFor(EVE, url, { 'x-forwarded-for': forged })).toBe(EVE);
    }
    expect(await statusesFor(ADA, url, 3)).toEqual([200, 200, 429]);
  });

  (hasIPv6 ? test : test.skip)('the same when it listens on every address of both kinds', async () => {
    // Every IPv4 address is then reported as ::ffff:…, also those of the proxies.
    const { app } = await startCounting(adapter, { trustProxy: [...proxies], host: '::' });
    const { port } = app.getHttpServer().address() as { port: number };
    const url = await chainTo(`http://127.0.0.1:${port}`, proxies);
    expect(await countedFor(EVE, url, { 'x-forwarded-for': ADA })).toBe(EVE);
    expect(await countedFor(EVE, `http://127.0.0.1:${port}`, { 'x-forwarded-for': ADA })).toBe(EVE);
    expect(await statusesFor(EVE, url, 1)).toEqual([429]);
  });

  test('who asks the application itself by who it is, whatever it claims', async () => {
    const app = await startCounting(adapter, { trustProxy: [...proxies] });
    for (const forged of FORGED) {
      expect(await countedFor(EVE, app.url, { 'x-forwarded-for': forged })).toBe(EVE);
    }
  });
});
