import { isIPv4, isIPv6 } from 'node:net';

const MAPPED = '::ffff:';

/**
 * A client's address in one spelling, so that one client is one key: `1.2.3.4`, `::ffff:1.2.3.4` and `::ffff:102:304`
 * are the same, and IPv6 addresses are grouped by network, because a client has at least a whole /64.
 *
 * @param reported what the adapter says the address is, under its trust-proxy setting; may be any text
 * @param socket the address of the connection, for when the reported one is no address
 * @param ipv6Prefix how many bits of an IPv6 address count: 1 to 128
 *
 * @example
 * clientAddress('::ffff:102:304', undefined, 64) // '1.2.3.4'
 * clientAddress('2001:db8:0:1:aaaa::1', undefined, 64) // '2001:db8:0:1::/64'
 */
export function clientAddress(
  reported: string | undefined,
  socket: string | undefined,
  ipv6Prefix: number,
): string | undefined {
  const address = read(reported) ?? read(socket);
  if (address === undefined || typeof address === 'string') return address;
  return isMappedIPv4(address) ? ipv4Text(address) : ipv6Network(address, ipv6Prefix);
}

/**
 * The whole of a client's address, spelt as {@link clientAddress} takes it, in groups of 16 bits: two of IPv4, eight of
 * IPv6. The socket's counts only where none is reported.
 *
 * @example
 * wholeAddress('::ffff:102:304', undefined) // [0x102, 0x304]
 */
export function wholeAddress(
  reported: string | undefined,
  socket: string | undefined,
): readonly number[] | undefined {
  // What is no address is nobody's: the socket may be a proxy's, and not on a list for whoever is behind it.
  const address = read(reported === undefined ? socket : reported);
  if (address === undefined) return undefined;
  if (typeof address === 'string') return ipv4Groups(address.split('.'));
  return isMappedIPv4(address) ? address.slice(6) : address;
}

/** An IPv4 address as it is written, or the groups of an IPv6 address. */
function read(text: string | undefined): string | readonly number[] | undefined {
  if (text === undefined || isIPv4(text)) return text;
  // How a socket that listens to both families writes every IPv4 client.
  if (text.startsWith(MAPPED) && isIPv4(text.slice(MAPPED.length))) return text.slice(MAPPED.length);
  const address = withoutPort(text);
  if (isIPv4(address)) return address;
  return isIPv6(address) ? expand(address) : undefined;
}

/** `1.2.3.4:5555`, `[::1]:5555`, `[::1]`, `"1.2.3.4"` and `fe80::1%eth0` without what is not the address. */
function withoutPort(text: string): string {
  const bare = text.replace(/^"(.*)"$/, '$1');
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(bare);
  if (bracketed !== null) return withoutZone(bracketed[1]!);
  const ported = /^([\d.]+):\d+$/.exec(bare);
  return withoutZone(ported?.[1] ?? bare);
}

function withoutZone(address: string): string {
  return address.split('%', 1)[0]!;
}

/** The eight 16-bit groups of a valid IPv6 address. */
function expand(address: string): number[] {
  const hexadecimal = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...bytes: string[]) =>
    ipv4Groups(bytes)
      .map((group) => group.toString(16))
      .join(':'),
  );
  const [head, tail] = hexadecimal.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const groups = tail === undefined ? head! : [...head!, ...zeros(8 - head!.length - tail.length), ...tail];
  return groups.map((group) => Number.parseInt(group, 16));
}

function zeros(length: number): string[] {
  return Array.from({ length }, () => '0');
}

function ipv4Groups(bytes: readonly string[]): number[] {
  const [a, b, c, d] = bytes.map(Number) as [number, number, number, number];
  return [(a << 8) | b, (c << 8) | d];
}

/** RFC 4291 §2.5.5.2, in either spelling. */
function isMappedIPv4(groups: readonly number[]): boolean {
  return groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
}

/** The last two groups as an IPv4 address. */
export function ipv4Text(groups: readonly number[]): string {
  const [high, low] = groups.slice(-2) as [number, number];
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** The network of an IPv6 address: the groups that count, then `::` and the prefix length. */
export function ipv6Network(groups: readonly number[], prefix: number): string {
  const counted = groups.slice(0, Math.ceil(prefix / 16));
  const bitsOfLast = prefix - (counted.length - 1) * 16;
  counted.push(counted.pop()! & (0xffff << (16 - bitsOfLast)));
  const text = counted.map((group) => group.toString(16)).join(':');
  return counted.length === 8 ? `${text}/${prefix}` : `${text}::/${prefix}`;
}
