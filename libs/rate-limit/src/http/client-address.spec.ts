import { isIPv4, isIPv6 } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { clientAddress, ipv4Text, ipv6Network, wholeAddress } from './client-address.js';

const SOCKET = '198.51.100.77';

const of = (reported: string | undefined, prefix = 64) => clientAddress(reported, SOCKET, prefix);

/** The eight groups of an address, with many zeros, because those can be left out. */
const groups = fc.array(fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.nat(0xffff)), {
  minLength: 8,
  maxLength: 8,
});
const prefixes = fc.integer({ min: 1, max: 128 });
const bytes = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255));

const isMapped = (its: readonly number[]) =>
  its.slice(0, 5).every((group) => group === 0) && its[5] === 0xffff;
const plain = (its: readonly number[]) => its.map((group) => group.toString(16)).join(':');

interface Style {
  readonly padding: readonly number[];
  readonly upper: readonly boolean[];
  /** Where zeros are left out, if they are. */
  readonly gap: number;
  /** Whether the last two groups are written like an IPv4 address. */
  readonly dotted: boolean;
  readonly around: (address: string) => string;
}

const style: fc.Arbitrary<Style> = fc.record({
  padding: fc.array(fc.nat(4), { minLength: 8, maxLength: 8 }),
  upper: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
  gap: fc.nat(12),
  dotted: fc.boolean(),
  around: fc.constantFrom<Style['around'][]>(
    (address) => address,
    (address) => `[${address}]`,
    (address) => `[${address}]:5555`,
    (address) => `"${address}"`,
    (address) => `"[${address}]:5555"`,
    (address) => `${address}%eth0`,
    (address) => `[${address}%eth0]:1`,
  ),
});

/** An address in one of its many spellings. */
function spell(its: readonly number[], { padding, upper, gap, dotted, around }: Style): string {
  const parts = its.map((group, index) => {
    const text = group.toString(16).padStart(padding[index]!, '0');
    return upper[index] ? text.toUpperCase() : text;
  });
  if (dotted) {
    const [high, low] = [its[6]!, its[7]!];
    parts.splice(6, 2, `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`);
  }
  const hexadecimal = dotted ? 6 : 8;
  let length = 0;
  while (gap + length < hexadecimal && its[gap + length] === 0) length += 1;
  if (length === 0) return around(parts.join(':'));
  return around(`${parts.slice(0, gap).join(':')}::${parts.slice(gap + length).join(':')}`);
}

/** The network of an address, worked out with one large integer, in the one spelling that URLs have for it. */
function networkModel(its: readonly number[], prefix: number): string {
  const address = its.reduce((sum, group) => (sum << 16n) | BigInt(group), 0n);
  const host = BigInt(128 - prefix);
  const network = (address >> host) << host;
  const hex = network.toString(16).padStart(32, '0');
  return `${canonical(hex.match(/.{4}/g)!.join(':'))}/${prefix}`;
}

function canonical(address: string): string {
  return new URL(`http://[${address}]/`).hostname;
}

test.each([
  ['1.2.3.4', '1.2.3.4'],
  ['1.2.3.4:5555', '1.2.3.4'],
  ['"1.2.3.4"', '1.2.3.4'],
  ['"1.2.3.4:5555"', '1.2.3.4'],
  ['::ffff:1.2.3.4', '1.2.3.4'],
  ['::FFFF:1.2.3.4', '1.2.3.4'],
  ['::ffff:102:304', '1.2.3.4'],
  ['0:0:0:0:0:ffff:0102:0304', '1.2.3.4'],
  ['[::ffff:1.2.3.4]:5555', '1.2.3.4'],
  ['::ffff:5.6.7.8', '5.6.7.8'],
  ['::ffff:0.0.0.0', '0.0.0.0'],
  ['::ffff:255.255.255.255', '255.255.255.255'],
  ['2001:db8:0:1:aaaa::1', '2001:db8:0:1::/64'],
  ['2001:db8:0:1:bbbb::2', '2001:db8:0:1::/64'],
  ['2001:db8:0:2::1', '2001:db8:0:2::/64'],
  ['[2001:db8:0:1::1]:5555', '2001:db8:0:1::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
])('%s counts as %s', (reported, address) => {
  expect(of(reported)).toBe(address);
});

describe('an IPv4 address', () => {
  test('is the same client plain, mapped into IPv6 in any spelling, quoted or with a port', () => {
    fc.assert(
      fc.property(bytes, style, prefixes, ([a, b, c, d], how, prefix) => {
        const address = `${a}.${b}.${c}.${d}`;
        const mapped = spell([0, 0, 0, 0, 0, 0xffff, (a << 8) | b, (c << 8) | d], how);
        for (const reported of [address, `${address}:80`, `"${address}"`, `[${address}]:80`, mapped]) {
          expect(of(reported, prefix)).toBe(address);
        }
      }),
    );
  });

  test('is another client than every other, mapped or not, however short the prefix is', () => {
    fc.assert(
      fc.property(bytes, bytes, prefixes, (one, other, prefix) => {
        fc.pre(one.join('.') !== other.join('.'));
        expect(of(one.join('.'), prefix)).not.toBe(of(other.join('.'), prefix));
        expect(of(`::ffff:${one.join('.')}`, prefix)).not.toBe(of(`::ffff:${other.join('.')}`, prefix));
      }),
    );
  });

  test('is another client than an IPv6 address that only looks alike', () => {
    for (const alike of ['::1.2.3.4', '::ffff:0:1.2.3.4', '::fffe:1.2.3.4', '1::ffff:1.2.3.4']) {
      expect(isIPv6(alike)).toBe(true);
      expect(of(alike)).toMatch(/::\/64$/);
    }
  });
});

describe('an IPv6 address', () => {
  test('is one client in every spelling', () => {
    fc.assert(
      fc.property(groups, style, style, prefixes, (its, one, other, prefix) => {
        expect(of(spell(its, one), prefix)).toBe(of(plain(its), prefix));
        expect(of(spell(its, other), prefix)).toBe(of(plain(its), prefix));
        expect(of(spell(its, one), prefix)).not.toBe(SOCKET);
      }),
      { numRuns: 1_000 },
    );
  });

  test('is grouped by the network that plain arithmetic gives, for every prefix', () => {
    fc.assert(
      fc.property(groups, style, (its, how) => {
        fc.pre(!isMapped(its));
        for (let prefix = 1; prefix <= 128; prefix += 1) {
          const [address, length] = of(spell(its, how), prefix)!.split('/') as [string, string];
          expect(isIPv6(address)).toBe(true);
          expect(`${canonical(address)}/${length}`).toBe(networkModel(its, prefix));
        }
      }),
      { numRuns: 50 },
    );
  });

  test('shares its network with another exactly if they differ only behind the prefix', () => {
    fc.assert(
      fc.property(groups, prefixes, fc.nat(127), (its, prefix, bit) => {
        const other = its.map((group, index) =>
          index === Math.floor(bit / 16) ? group ^ (0x8000 >> (bit % 16)) : group,
        );
        fc.pre(!isMapped(its) && !isMapped(other));
        expect(of(plain(its), prefix) === of(plain(other), prefix)).toBe(bit >= prefix);
      }),
      { numRuns: 1_000 },
    );
  });

  test('has one text for each network, whichever of its addresses comes first', () => {
    fc.assert(
      fc.property(groups, groups, prefixes, (one, other, prefix) => {
        fc.pre(!isMapped(one) && !isMapped(other));
        expect(of(plain(one), prefix) === of(plain(other), prefix)).toBe(
          networkModel(one, prefix) === networkModel(other, prefix),
        );
      }),
    );
  });
});

describe('what is no address', () => {
  test.each([
    undefined,
    '',
    ' ',
    'unknown',
    'localhost',
    '_hidden',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.256',
    '01.2.3.4',
    '0x1.2.3.4',
    '1.2.3.4:',
    '1.2.3.4:port',
    '1.2.3.4:80:80',
    '1.2.3.4/32',
    '1.2.3.4, 5.6.7.8',
    '1.2.3.4 ',
    ' 1.2.3.4',
    '1.2.3.4\n',
    '1.2.3.4\r\nX: y',
    '١.٢.٣.٤',
    '""1.2.3.4""',
    '"1.2.3.4',
    '16909060',
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4::5:6:7:8',
    '12345::',
    'g::1',
    '::ffff:1.2.3.4:5555',
    '::ffff:1.2.3.256',
    '::1.2.3',
    '2001:db8::/32',
    '[::1',
    '::1]',
    '[]',
    '[]:80',
    '[[::1]]',
    '[::1]:port',
    '%eth0',
    '%',
    '[%eth0]',
    '"',
    '""',
  ])('%j gives the address of the socket', (garbage) => {
    expect(of(garbage)).toBe(SOCKET);
    expect(clientAddress(garbage, '::ffff:9.8.7.6', 64)).toBe('9.8.7.6');
    expect(clientAddress(garbage, '2001:db8::1', 48)).toBe('2001:db8:0::/48');
  });

  test('gives the address of the socket, whatever it is', () => {
    // One character that stands in no address makes a text none; behind a % stands the zone, which may hold any.
    const foreign = fc.constantFrom(...'gzGZ_!,;/\\@ \t\n\0é😀\ud800');
    const text = fc
      .oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[\da-f:.[\]"]{0,20}$/))
      .map((some) => some.replaceAll('%', ''));
    fc.assert(
      fc.property(text, foreign, text, (before, character, after) => {
        expect(of(before + character + after)).toBe(SOCKET);
      }),
      { numRuns: 500 },
    );
  });

  test('never becomes anything but an address or a network, also as the address of the socket', () => {
    const nearly = fc.stringMatching(/^[[\]"%:.\da-fx]{0,30}$/);
    fc.assert(
      fc.property(fc.oneof(nearly, fc.string({ unit: 'binary' })), nearly, prefixes, (one, other, prefix) => {
        const address = clientAddress(one, other, prefix);
        if (address === undefined || isIPv4(address)) return;
        const [network, length] = address.split('/') as [string, string];
        expect(isIPv6(network)).toBe(true);
        expect(length).toBe(String(prefix));
      }),
      { numRuns: 1_000 },
    );
  });

  test('is nobody when the socket has no address either', () => {
    expect(clientAddress(undefined, undefined, 64)).toBeUndefined();
    expect(clientAddress('unknown', undefined, 64)).toBeUndefined();
    expect(clientAddress('', '', 64)).toBeUndefined();
    expect(clientAddress('unknown', 'pipe', 64)).toBeUndefined();
  });

  test('is refused in no time, however long it is', () => {
    for (const long of ['1.'.repeat(500_000), `[${':'.repeat(1_000_000)}`, '"'.repeat(1_000_000)]) {
      expect(of(long)).toBe(SOCKET);
    }
  });
});

test('the address that the adapter reports wins over that of the socket', () => {
  expect(clientAddress('203.0.113.9', SOCKET, 64)).toBe('203.0.113.9');
  expect(clientAddress('2001:db8::1', SOCKET, 64)).toBe('2001:db8:0:0::/64');
});

describe('the whole address', () => {
  test('is two groups of IPv4 and eight of IPv6, in whatever spelling', () => {
    fc.assert(
      fc.property(groups, style, (its, how) => {
        expect(wholeAddress(spell(its, how), SOCKET)).toEqual(isMapped(its) ? its.slice(6) : its);
      }),
      { numRuns: 500 },
    );
  });

  test('is the one that is counted, that of the socket only where none is reported, and also nobody', () => {
    const some = fc.oneof(
      fc.tuple(groups, style).map(([its, how]) => spell(its, how)),
      bytes.map((its) => its.join('.')),
      bytes.map((its) => `"${its.join('.')}:80"`),
      fc.constantFrom(undefined, '', 'unknown', '1.2.3'),
    );
    fc.assert(
      fc.property(some, some, (reported, socket) => {
        const its = wholeAddress(reported, socket);
        const text = its && (its.length === 2 ? ipv4Text(its) : ipv6Network(its, 128));
        expect(text).toBe(clientAddress(reported, reported === undefined ? socket : undefined, 128));
      }),
      { numRuns: 500 },
    );
  });
});
