import { BlockList } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { context } from '../../../testing/context.js';
import { RateLimitConfigError } from '../../decision/config-error.js';
import { when } from '../when.js';
import type { Predicate } from './predicate.js';

const isIn = (ip: string | undefined, asked: Predicate) => asked(context({ ip }));

/** A family of addresses, each as one large integer. */
interface Family {
  readonly name: 'ipv4' | 'ipv6';
  readonly bits: number;
  readonly text: (address: bigint) => string;
}

const digits = (address: bigint, count: number, bits: bigint) =>
  Array.from({ length: count }, (_, index) =>
    Number((address >> (bits * BigInt(count - 1 - index))) & ((1n << bits) - 1n)),
  );
const IPV4: Family = { name: 'ipv4', bits: 32, text: (address) => digits(address, 4, 8n).join('.') };
const IPV6: Family = {
  name: 'ipv6',
  bits: 128,
  text: (address) =>
    digits(address, 8, 16n)
      .map((group) => group.toString(16))
      .join(':'),
};
const FAMILIES = [IPV4, IPV6];

/** The first address of the network of so many bits that an address is in, and how many follow it. */
function networkOf({ bits }: Family, address: bigint, prefix: number): [bigint, bigint] {
  const hosts = BigInt(bits - prefix);
  return [(address >> hosts) << hosts, (1n << hosts) - 1n];
}

describe('a network', () => {
  const office = when.network('10.0.0.0/8', '192.0.2.7', '2001:db8::/32', '2001:db9::7');

  test.each([
    ['10.0.0.0', true],
    ['10.255.255.255', true],
    ['9.255.255.255', false],
    ['11.0.0.0', false],
    ['192.0.2.7', true],
    ['192.0.2.6', false],
    ['192.0.2.8', false],
    ['2001:db8::', true],
    ['2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', true],
    ['2001:db7:ffff:ffff:ffff:ffff:ffff:ffff', false],
    ['2001:db9::', false],
    ['2001:db9::7', true],
    ['2001:db9::8', false],
    ['::10.0.0.1', false],
    ['::a00:1', false],
  ])('%s: %p', (ip, expected) => {
    expect(isIn(ip, office)).toBe(expected);
  });

  test.each(FAMILIES)('of $name begins and ends where it should, at every length', (family) => {
    const { bits, text } = family;
    const ends = (1n << BigInt(bits)) - 1n;
    for (let prefix = 0; prefix <= bits; prefix += 1) {
      // No pattern, so that all lengths differ; and it is not among the IPv4 addresses of IPv6.
      const [first, following] = networkOf(family, 0x5b3a_96e1_c7d2_408f_a5c3_7b19_e46d_82f0n & ends, prefix);
      const asked = when.network(`${text(first)}/${prefix}`);
      expect([isIn(text(first), asked), isIn(text(first + following), asked)]).toEqual([true, true]);
      if (first > 0n) expect(isIn(text(first - 1n), asked)).toBe(false);
      if (first + following < ends) expect(isIn(text(first + following + 1n), asked)).toBe(false);
    }
  });

  test('of length 0 is all of its family, and nothing of the other', () => {
    for (const [all, family] of [
      ['0.0.0.0/0', IPV4],
      ['::ffff:0:0/96', IPV4],
      ['::/0', IPV6],
    ] as const) {
      for (const ip of ['0.0.0.0', '1.2.3.4', '::ffff:1.2.3.4', '255.255.255.255']) {
        expect(isIn(ip, when.network(all))).toBe(family === IPV4);
      }
      for (const ip of ['::', '::1', '::fffe:1.2.3.4', '::1:0:0:0', 'ffff::']) {
        expect(isIn(ip, when.network(all))).toBe(family === IPV6);
      }
    }
  });

  test('of one address may say so', () => {
    expect(isIn('1.2.3.4', when.network('1.2.3.4/32'))).toBe(true);
    expect(isIn('1.2.3.5', when.network('1.2.3.4/32'))).toBe(false);
    expect(isIn('2001:db8::1', when.network('2001:db8::1/128'))).toBe(true);
    expect(isIn('2001:db8::', when.network('2001:db8::1/128'))).toBe(false);
  });

  test('of IPv4 is the same when it is written as part of IPv6', () => {
    for (const its of ['::ffff:1.2.3.0/120', '::FFFF:102:300/120', '0:0:0:0:0:ffff:0102:0300/120']) {
      const asked = when.network(its);
      for (const ip of ['1.2.3.0', '1.2.3.255', '::ffff:1.2.3.4']) expect(isIn(ip, asked)).toBe(true);
      for (const ip of ['1.2.2.255', '1.2.4.0', '::1.2.3.4']) expect(isIn(ip, asked)).toBe(false);
    }
    expect(isIn('1.2.3.4', when.network('::ffff:1.2.3.4'))).toBe(true);
    expect(isIn('1.2.3.4', when.network('::ffff:102:304/128'))).toBe(true);
  });
});

describe('the address of a request', () => {
  test.each([
    '1.2.3.4',
    '1.2.3.4:5555',
    '"1.2.3.4"',
    '"1.2.3.4:5555"',
    '::ffff:1.2.3.4',
    '::FFFF:1.2.3.4',
    '::ffff:102:304',
    '0:0:0:0:0:ffff:0102:0304',
    '[::ffff:1.2.3.4]:5555',
    '"[::ffff:102:304%eth0]:5555"',
  ])('is the same as %s', (ip) => {
    expect(isIn(ip, when.network('1.2.3.4'))).toBe(true);
    expect(isIn(ip, when.network('1.2.3.5'))).toBe(false);
    expect(isIn(ip, when.network('::/0'))).toBe(false);
  });

  test.each([
    'fe80::1',
    'FE80::1',
    'fe80::1%eth0',
    '[fe80::1%eth0]:80',
    'fe80:0:0:0:0:0:0:1',
    'fe80::0.0.0.1',
  ])('is the same as %s', (ip) => {
    expect(isIn(ip, when.network('fe80::1'))).toBe(true);
    expect(isIn(ip, when.network('fe80::2'))).toBe(false);
  });

  test('is the whole of it: two neighbours in one /64 are two', () => {
    const asked = when.network('2001:db8:0:1::1');
    expect(isIn('2001:db8:0:1::1', asked)).toBe(true);
    expect(isIn('2001:db8:0:1::2', asked)).toBe(false);
  });

  test("is that of the socket where none is reported, and nobody's where it is no address", () => {
    const socket = { remoteAddress: '::ffff:10.1.2.3' };
    const asked = when.network('10.0.0.0/8');
    expect(asked(context({ socket }))).toBe(true);
    // The socket may be a proxy's, which is on the list itself.
    expect(asked(context({ ip: 'unknown', socket }))).toBe(false);
    expect(asked(context({ ip: '11.1.2.3', socket }))).toBe(false);
  });

  test.each([undefined, '', 'unknown', 'localhost', '10.0.0', '10.0.0.0/8'])(
    'is in no network where there is none (%p)',
    (ip) => {
      expect(isIn(ip, when.network('0.0.0.0/0', '::/0'))).toBe(false);
    },
  );
});

describe('networks', () => {
  test('may be written one by one, as lists, or as both', () => {
    const asked = when.network('10.0.0.0/8', ['11.0.0.0/8', '12.0.0.0/8'], [], '13.0.0.0/8');
    for (const ip of ['10.0.0.1', '11.0.0.1', '12.0.0.1', '13.0.0.1']) expect(isIn(ip, asked)).toBe(true);
    for (const ip of ['9.0.0.1', '14.0.0.1']) expect(isIn(ip, asked)).toBe(false);
  });

  test('that there are none of are those of nobody', () => {
    for (const asked of [when.network(), when.network([]), when.network([], [])]) {
      for (const ip of ['0.0.0.0', '1.2.3.4', '::', '2001:db8::1', undefined]) {
        expect(isIn(ip, asked)).toBe(false);
      }
    }
  });

  test('are read once', () => {
    const list = ['10.0.0.0/8'];
    const asked = when.network(list);
    list[0] = '11.0.0.0/8';
    expect(isIn('10.0.0.1', asked)).toBe(true);
    expect(isIn('11.0.0.1', asked)).toBe(false);
  });

  test('may be in one another, beside one another and the same, in any order', () => {
    const list = ['10.0.0.0/8', '10.1.0.0/16', '10.1.2.0/24', '10.1.2.3', '10.1.2.3/32', '11.0.0.0/9'];
    fc.assert(
      fc.property(fc.shuffledSubarray([...list, ...list], { minLength: 12 }), (shuffled) => {
        const asked = when.network(shuffled);
        const inside = ['10.0.0.0', '10.1.2.3', '10.1.2.4', '10.1.3.0', '10.255.255.255', '11.127.255.255'];
        for (const ip of inside) expect(isIn(ip, asked)).toBe(true);
        for (const ip of ['9.255.255.255', '11.128.0.0', '12.0.0.0']) expect(isIn(ip, asked)).toBe(false);
      }),
    );
  });

  test('are those that Node finds an address in', () => {
    const cases = fc.constantFrom(...FAMILIES).chain((family) => {
      const { bits } = family;
      // Alike enough for networks that are in one another and for addresses that are in them.
      const half = fc.oneof(fc.constantFrom(0n, 1n, 2n, 3n), fc.bigInt(0n, (1n << BigInt(bits - 8)) - 1n));
      const address = fc.tuple(fc.constantFrom(0x20n, 0x21n, 0xfen), half).map(([top, rest]) => {
        return (top << BigInt(bits - 8)) | rest;
      });
      const written = fc.record({ address, prefix: fc.integer({ min: 0, max: bits }) });
      return fc.record({
        family: fc.constant(family),
        networks: fc.array(written, { maxLength: 20 }),
        addresses: fc.array(address, { minLength: 1, maxLength: 20 }),
      });
    });
    fc.assert(
      fc.property(cases, ({ family, networks, addresses }) => {
        const model = new BlockList();
        const ranges = networks.map(({ address, prefix }) => ({
          range: networkOf(family, address, prefix),
          prefix,
        }));
        for (const { range, prefix } of ranges) model.addSubnet(family.text(range[0]), prefix, family.name);
        const asked = when.network(ranges.map(({ range, prefix }) => `${family.text(range[0])}/${prefix}`));
        const largest = (1n << BigInt(family.bits)) - 1n;
        const edges = ranges.flatMap(({ range: [first, following] }) => [
          first,
          first - 1n,
          first + following,
          first + following + 1n,
        ]);
        for (const address of [...addresses, ...edges]) {
          if (address < 0n || address > largest) continue;
          const ip = family.text(address);
          expect([ip, isIn(ip, asked)]).toEqual([ip, model.check(ip, family.name)]);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test('may be 100,000 and more', () => {
    // Every other /24 of 10.0.0.0 and what follows, and every other /48 of 2001:db8 and what follows, backwards.
    const ipv4 = (index: number) => (10n << 24n) + (BigInt(index) << 9n);
    const ipv6 = (index: number) => (0x2001_0db8n << 96n) + (BigInt(index) << 81n);
    const list = Array.from({ length: 60_000 }, (_, index) => [
      `${IPV4.text(ipv4(index))}/24`,
      `${IPV6.text(ipv6(index))}/48`,
    ]).flat();
    const asked = when.network(list.toReversed());
    let wrong = 0;
    const check = (ip: string, expected: boolean) => {
      if (isIn(ip, asked) !== expected) wrong += 1;
    };
    for (let index = 0; index < 60_000; index += 1) {
      check(IPV4.text(ipv4(index)), true);
      check(IPV4.text(ipv4(index) + 255n), true);
      check(IPV4.text(ipv4(index) - 1n), false);
      check(IPV4.text(ipv4(index) + 256n), false);
      check(IPV6.text(ipv6(index)), true);
      check(IPV6.text(ipv6(index) - 1n), false);
    }
    expect(wrong).toBe(0);
  });
});

describe('what is no network', () => {
  const refusal = (...written: unknown[]) => {
    try {
      when.network(...(written as string[]));
    } catch (error) {
      expect(error).toBeInstanceOf(RateLimitConfigError);
      return error as RateLimitConfigError;
    }
    throw new Error('not refused');
  };

  test.each<[unknown, RegExp]>([
    ['10.0.0.0/33', /at most \/32/],
    ['2001:db8::/129', /at most \/128/],
    ['::ffff:1.2.3.0/129', /at most \/128/],
    ['10.0.0.0/999', /at most \/32/],
    ['10.0.0.0/1000', /not "10/],
    ['10.0.0.1/8', /Write '10\.0\.0\.0\/8' for the whole network, or leave the length out/],
    ['1.2.3.4/0', /Write '0\.0\.0\.0\/0'/],
    ['1.2.3.5/31', /Write '1\.2\.3\.4\/31'/],
    ['2001:db8::1/32', /Write '2001:db8::\/32'/],
    ['2001:db8::1/127', /Write '2001:db8:0:0:0:0:0:0\/127'/],
    ['::1/0', /Write '0::\/0'/],
    ['::ffff:1.2.3.4/120', /Write '1\.2\.3\.0\/24'/],
    ['::ffff:0:0/95', /at least \/96/],
    ['::ffff:1.2.3.4/24', /at least \/96/],
    ['1.2.3.4/08', /without zeros in front/],
    ['1.2.3.0/024', /without zeros in front/],
    ['', /Leave empty lines out/],
    [' ', /Leave empty lines out/],
    ['\r', /Leave empty lines out/],
    ['10.0.0.0/8\r', /Trim it first/],
    [' 10.0.0.0/8', /Trim it first/],
    ['10.0.0.0/8\n', /Trim it first/],
    ['10.0.0.0/8,11.0.0.0/8', /an entry of its own/],
    ['10.0.0.0/8 # office', /an entry of its own/],
    ['# office', /an entry of its own/],
    ['10.0.0.1-10.0.0.9', /range as the networks/],
    ['10.0.0.*', /range as the networks/],
    ['10.0.0.0/-1', /range as the networks/],
    ['1.2.3.4:80', /without a port, a zone, quotes or brackets/],
    ['[::1]', /without a port, a zone, quotes or brackets/],
    ['[::1]:80', /without a port, a zone, quotes or brackets/],
    ['"1.2.3.4"', /without a port, a zone, quotes or brackets/],
    ['fe80::1%eth0', /without a port, a zone, quotes or brackets/],
    ['10.0.0', /not "10\.0\.0" \(a string\)\.$/],
    ['10/8', /not "10\/8" \(a string\)\.$/],
    ['garbage', /not "garbage" \(a string\)\.$/],
    ['256.0.0.0/8', /not "256/],
    ['010.0.0.0/8', /not "010/],
    ['0x0a.0.0.0/8', /not "0x0a/],
    ['10.0.0.0/', /not "10/],
    ['10.0.0.0/8/9', /not "10/],
    ['10.0.0.0/255.0.0.0', /not "10/],
    ['10.0.0.0/8.0', /not "10/],
    ['10.0.0.0/+8', /not "10/],
    ['10.0.0.0/٨', /not "10/],
    ['/8', /not "\/8/],
    ['/', /not "\/"/],
    ['2001:db8:::/32', /not "2001/],
    ['g::/16', /not "g/],
    [10, /not 10\.$/],
    [Number.NaN, /not NaN\.$/],
    [null, /not null\.$/],
    [undefined, /and it is missing\.$/],
    [true, /not true\.$/],
    [{}, /not an object\.$/],
    [[['10.0.0.0/8']], /not an array\.$/],
    [new Set(['10.0.0.0/8']), /not an object\.$/],
    [/10/, /not an object\.$/],
  ])('%p is refused at once, and told how to mend it', (written, mend) => {
    const { code, message } = refusal(written);
    expect(code).toBe('INVALID_NETWORK');
    expect(message).toMatch(/^when\.network\(\): entry 1 must be an address or a network, such as /);
    expect(message).toMatch(mend);
  });

  test('is told by where it stands among all', () => {
    expect(refusal('10.0.0.0/8', ['11.0.0.0/8', '12.0.0.1/8']).message).toMatch(
      /: entry 3 must .*'12\.0\.0\.0\/8'/,
    );
    expect(refusal(['10.0.0.0/8', '', '']).message).toMatch(/: entry 2 must /);
  });

  test('mends itself as it is told', () => {
    const address = fc
      .constantFrom(...FAMILIES)
      .chain(({ bits, text }) =>
        fc.tuple(
          fc.bigInt(1n << BigInt(bits - 1), (1n << BigInt(bits)) - 1n).map(text),
          fc.integer({ min: 0, max: bits - 1 }),
        ),
      );
    fc.assert(
      fc.property(address, ([ip, prefix]) => {
        let written = `${ip}/${prefix}`;
        try {
          when.network(written);
        } catch (error) {
          written = /Write '([^']+)'/.exec((error as Error).message)![1]!;
        }
        expect(isIn(ip, when.network(written))).toBe(true);
        expect(written).toMatch(new RegExp(`/${prefix}$`));
      }),
    );
  });
});

test('is known to ask for nothing but the head of a request', () => {
  const { needs = [], head, own, hashes = false } = when.network('10.0.0.0/8');
  expect({ needs, head, own, hashes }).toEqual({ needs: [], head: true, own: false, hashes: false });
});
