import { isIP } from 'node:net';
import { RateLimitConfigError, show } from '../../decision/config-error.js';
import { ipv4Text, ipv6Network, wholeAddress } from '../../http/client-address.js';

/** From its first to its last address, in groups of 16 bits: two of IPv4, eight of IPv6. */
export interface Network {
  readonly first: readonly number[];
  readonly last: readonly number[];
}

/** An address, and how many of its bits are the network's. */
const SPELLING = /^([\da-f.:]+)(?:\/(0|[1-9]\d{0,2}))?$/i;

/** What is mostly wrong, and how to mend it; the first that fits is told. */
const MENDS: readonly (readonly [RegExp, string])[] = [
  [/^\s*$/, 'Leave empty lines out.'],
  [/^\s|\s$/, 'Trim it first.'],
  [/[\s,;#]/, 'Give every network as an entry of its own, without a remark.'],
  [/[-*]/, 'Write a range as the networks that it consists of.'],
  [/\/0\d/, 'Write the length without zeros in front.'],
  [/[%"[\]]|^[\d.]+:/, 'Write the address alone, without a port, a zone, quotes or brackets.'],
];

/**
 * @param where how messages call the list
 * @param position which of its entries it is, from 1
 * @throws {RateLimitConfigError} for what is no network, or an address in a network where that has to stand
 */
export function parseNetwork(where: string, written: unknown, position: number): Network {
  const refuse = (mend: string) => {
    const got = written === undefined ? 'and it is missing' : `not ${show(written)}`;
    return new RateLimitConfigError(
      'INVALID_NETWORK',
      where,
      `entry ${position} must be an address or a network, such as '192.0.2.1', '10.0.0.0/8' or '2001:db8::/32', ` +
        `${got}.${mend && ` ${mend}`}`,
    );
  };
  const [, address = '', length] = (typeof written === 'string' && SPELLING.exec(written)) || [];
  const version = isIP(address);
  if (version === 0) throw refuse(mendOf(written));
  const groups = wholeAddress(address, undefined)!;
  const bits = groups.length * 16;
  const writtenBits = version === 4 ? 32 : 128;
  const prefix = (length === undefined ? writtenBits : Number(length)) - (writtenBits - bits);
  if (prefix > bits) throw refuse(`A length is at most /${writtenBits} here.`);
  if (prefix < 0) throw refuse('It is IPv4 within IPv6, where a length is at least /96.');
  const network = cut(groups, prefix);
  if (network.first.every((group, index) => group === groups[index])) return network;
  throw refuse(
    `Its address has bits behind the length. Write '${textOf(network.first, prefix)}' for the whole network, or leave the length out.`,
  );
}

function mendOf(written: unknown): string {
  if (typeof written !== 'string') return '';
  return MENDS.find(([sign]) => sign.test(written))?.[1] ?? '';
}

/** The network of so many bits that an address is in. */
function cut(groups: readonly number[], prefix: number): Network {
  const hosts = groups.map((_, index) => 0xffff >> Math.min(Math.max(prefix - index * 16, 0), 16));
  return {
    first: groups.map((group, index) => group & ~hosts[index]!),
    last: groups.map((group, index) => group | hosts[index]!),
  };
}

function textOf(first: readonly number[], prefix: number): string {
  return first.length === 2 ? `${ipv4Text(first)}/${prefix}` : ipv6Network(first, prefix);
}
