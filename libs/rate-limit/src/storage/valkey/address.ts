import { RateLimitConfigError, show } from '../../decision/config-error.js';

/** What a URL of a Valkey says. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly hasPort: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly tls: boolean;
}

const SCHEMES = ['valkey:', 'valkeys:', 'redis:', 'rediss:'];
const PORT = 6_379;

/**
 * Reads `valkey://user:password@127.0.0.1:6379/0`.
 *
 * @param what how messages call it
 * @throws {RateLimitConfigError} without the URL in it, as it may hold a password
 */
export function parseAddress(what: string, text: unknown, defaultPort = PORT): Address {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
  const problem = urlProblem(text, url);
  if (url === undefined || problem !== undefined) {
    throw new RateLimitConfigError(
      'INVALID_VALKEY',
      'RateLimitModule',
      `${what} must be a URL such as 'valkey://user:password@127.0.0.1:6379/0' (${SCHEMES.join(', ')}): ${problem}.`,
    );
  }
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'), // an IPv6 address
    port: Number(url.port || defaultPort),
    hasPort: url.port !== '',
    username: decodeURIComponent(url.username) || undefined,
    password: decodeURIComponent(url.password) || undefined,
    database: Number(url.pathname.slice(1)),
    tls: url.protocol === 'valkeys:' || url.protocol === 'rediss:',
  };
}

/** `127.0.0.1:6379`, for messages. */
export function showAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function urlProblem(text: unknown, url: URL | undefined): string | undefined {
  if (typeof text !== 'string') return `it is ${show(text)}`;
  if (url === undefined) return 'it is no URL';
  if (!SCHEMES.includes(url.protocol)) return `it begins with "${url.protocol}"`;
  if (!text.startsWith(`${url.protocol}//`) || url.hostname === '') return 'it names no host after "//"';
  if (!/^\/?\d{0,5}$/.test(url.pathname)) return 'what follows the host is not the number of a database';
  if (url.search !== '' || url.hash !== '')
    return 'settings in a URL would be ignored or misread, so "?" and "#" are refused';
  if (!canDecode(url.username) || !canDecode(url.password))
    return 'a "%" in its user or password must be written "%25"';
  return undefined;
}

function canDecode(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
