import { wholeAddress } from '../../http/client-address.js';
import { NetworkSet } from './network-set.js';
import { parseNetwork } from './parse-network.js';
import { predicate, type Predicate } from './predicate.js';

/**
 * Whether the client's address, as `key.ip()` finds it, is in one of these networks: addresses and CIDR networks of
 * IPv4 and IPv6, in any order, overlapping, and any number of them: a long list as one array. They are read once.
 * `'::ffff:1.2.3.0/120'` is the IPv4 network, and `'::/0'` is all of IPv6 and nothing of IPv4.
 *
 * What an adapter reports that is no address is in no network, also where the socket's is.
 *
 * Without any network, as from a file that is empty, nobody is meant, and a request without an address never is.
 *
 * @throws {RateLimitConfigError} for what is no network, and says which it is
 *
 * @example
 * when.network('10.0.0.0/8', '2001:db8::/32')
 * when.network(readFileSync('office.txt', 'utf8').split('\n').filter(Boolean))
 */
export function network(...networks: readonly (string | readonly string[])[]): Predicate {
  const set = new NetworkSet(
    networks.flat().map((written, index) => parseNetwork('when.network()', written, index + 1)),
  );
  return predicate(
    ({ request }) => {
      const address = wholeAddress(request.ip, request.socket?.remoteAddress);
      return address !== undefined && set.has(address);
    },
    { head: true, own: false },
  );
}
