import { describe, expect, test } from '@jest/globals';
import { adapters, type StartOptions } from '../support/app.js';
import { chainTo, hasAddress, proxyTo } from '../support/proxies.js';
import { ADA, countedFor, EVE, INNER, OUTER, startCounting, statusesFor } from './counting.js';

const here = await hasAddress(OUTER);

/** What proxies are known to report, and which client it is. */
const SPELLINGS = [
  [`${ADA}:5555`, ADA],
  [`"${ADA}"`, ADA],
  [`::ffff:${ADA}`, ADA],
  ['::ffff:7f00:b', ADA],
  ['[2001:db8:0:1::5]:443', '2001:db8:0:1::/64'],
  ['2001:db8:0:1:ffff::9', '2001:db8:0:1::/64'],
] as const;

const GARBAGE = [
  'unknown',
  'garbage',
  '_hidden',
  '1.2.3',
  '1.2.3.4.5',
  '999.1.1.1',
  '::ffff:1.2.3.256',
  '%',
  '{}',
];

const claiming = (address: string) => ({ 'x-forwarded-for': address });

(here ? describe : describe.skip).each(adapters)('what a trust-proxy setting does on %s:', (adapter) => {
  const start = async (trustProxy: StartOptions['trustProxy'], ...proxies: string[]) => {
    const app = await startCounting(adapter, trustProxy === undefined ? {} : { trustProxy });
    return { direct: app.url, url: await chainTo(app.url, proxies) };
  };

  test('left out, the proxy is counted, and all clients behind it share one bucket', async () => {
    const { url } = await start(undefined, INNER);
    expect(await countedFor(ADA, url)).toBe(INNER);
    expect(await countedFor(EVE, url, claiming('6.6.6.6'))).toBe(INNER);
    expect(await statusesFor(ADA, url, 1)).toEqual([429]);
  });

  test('that names only the second of two, the first is counted', async () => {
    const { url } = await start([INNER], OUTER, INNER);
    expect(await countedFor(ADA, url)).toBe(OUTER);
    expect(await countedFor(EVE, url, claiming('6.6.6.6'))).toBe(OUTER);
  });

  test('that names only the first of two, the second is counted', async () => {
    const { url } = await start([OUTER], OUTER, INNER);
    expect(await countedFor(ADA, url)).toBe(INNER);
  });

  test('that names a network, its proxies are believed', async () => {
    const { url } = await start(['127.0.1.0/24'], OUTER, INNER);
    expect(await countedFor(EVE, url, claiming(ADA))).toBe(EVE);
  });

  test('that names a network with clients in it, those are whoever they claim to be', async () => {
    const { url } = await start(['127.0.0.0/8'], INNER);
    expect(await countedFor(EVE, url, claiming('6.6.6.6'))).toBe('6.6.6.6');
  });

  test('of true, everybody is whoever they claim to be', async () => {
    const { direct, url } = await start(true, INNER);
    expect(await countedFor(ADA, url)).toBe(ADA);
    for (const forged of ['6.6.6.6', '7.7.7.7', ADA]) {
      expect(await countedFor(EVE, url, claiming(forged))).toBe(forged);
      expect(await countedFor(EVE, direct, claiming(forged))).toBe(forged);
    }
  });

  if (adapter === 'fastify') {
    test.each([1, 2, 3])('of %d, nobody is believed: a number is not enough for Fastify', async (hops) => {
      const { direct, url } = await start(hops, OUTER, INNER);
      expect(await countedFor(ADA, url)).toBe(INNER);
      expect(await countedFor(EVE, url, claiming('6.6.6.6'))).toBe(INNER);
      expect(await countedFor(EVE, direct, claiming('6.6.6.6'))).toBe(EVE);
    });
  } else {
    test('of as many as there are proxies, Express believes what the proxies say', async () => {
      for (const proxies of [[INNER], [OUTER, INNER]]) {
        const { url } = await start(proxies.length, ...proxies);
        expect(await countedFor(EVE, url, claiming(ADA))).toBe(EVE);
        expect(await countedFor(EVE, url, claiming(`${ADA}, ${OUTER}, ${INNER}`))).toBe(EVE);
      }
    });

    test('of fewer than there are, a proxy is counted', async () => {
      const { url } = await start(1, OUTER, INNER);
      expect(await countedFor(ADA, url)).toBe(OUTER);
    });

    test('of more than stand in the way, everybody is whoever they claim to be', async () => {
      const { direct, url } = await start(2, INNER);
      expect(await countedFor(EVE, url, claiming('6.6.6.6'))).toBe('6.6.6.6');
      expect(await countedFor(EVE, direct, claiming('6.6.6.6'))).toBe('6.6.6.6');
    });
  }

  test('however a proxy spells an address, it is that address', async () => {
    // The request comes from the address of the outer proxy, and says what one might.
    const { url } = await start([OUTER, INNER], INNER);
    for (const [reported, counted] of SPELLINGS) {
      for (const list of [reported, `6.6.6.6, ${reported}`]) {
        expect([list, await countedFor(OUTER, url, claiming(list))]).toEqual([list, counted]);
      }
    }
  });

  test('a proxy that reports what is no address is counted itself', async () => {
    const { url } = await start([OUTER, INNER], INNER);
    for (const garbage of GARBAGE) {
      for (const list of [garbage, `6.6.6.6, ${garbage}`]) {
        expect([list, await countedFor(OUTER, url, claiming(list))]).toEqual([list, INNER]);
      }
    }
  });

  test('garbage gets nobody a bucket of its own, not even where everybody is believed', async () => {
    const { url } = await start(true, INNER);
    for (const garbage of GARBAGE) {
      expect(await countedFor(EVE, url, claiming(garbage))).toBe(INNER);
    }
    expect(await statusesFor(EVE, url, 1, claiming('other garbage'))).toEqual([429]);
  });

  test('a proxy that says nothing of its clients is counted itself', async () => {
    const app = await startCounting(adapter, { trustProxy: [INNER] });
    const { url } = await proxyTo(app.url, { address: INNER, says: "proxy_set_header X-Forwarded-For '';" });
    expect(await countedFor(ADA, url)).toBe(INNER);
    expect(await countedFor(EVE, url, claiming('6.6.6.6'))).toBe(INNER);
  });

  test('a proxy that passes X-Forwarded-For on as it came lets everybody be whoever they claim to be', async () => {
    const app = await startCounting(adapter, { trustProxy: [INNER] });
    const { url } = await proxyTo(app.url, { address: INNER, says: '' });
    expect(await countedFor(EVE, url, claiming('6.6.6.6'))).toBe('6.6.6.6');
  });
});
