import type { ConnectionOptions } from 'node:tls';
import { RateLimitConfigError, show } from '../../decision/config-error.js';
import { OptionReader } from '../../decision/option-reader.js';
import { type Address, parseAddress } from './address.js';
import type { ValkeyClient } from './connection.js';

/** How to speak TLS: certificates and names, as Node's `tls.connect` takes them. Only with `valkeys://` or `rediss://`. */
export type TlsOptions = ConnectionOptions;

/** A single server. */
export interface ValkeyServer {
  /** `'valkey://user:password@127.0.0.1:6379/0'` */
  url: string;
  tls?: TlsOptions;
}

/** A Cluster. */
export interface ValkeyCluster {
  /** Some of its nodes, of which one must answer; the others are found. All with the same user, password and scheme. */
  cluster: readonly string[];
  tls?: TlsOptions;
}

/** A server that Sentinels watch, and whose replica they promote when it is lost. */
export interface ValkeySentinel {
  /** `'valkey://10.0.0.1:26379'`, all with the same user, password and scheme. */
  sentinels: readonly string[];
  /** What they watch: the name of the group where a URL has the host, `'valkey://user:password@orders/0'`. */
  primary: string;
  /** For the Sentinels and for what they watch, where their URLs ask for TLS. */
  tls?: TlsOptions;
}

/** Where all instances count together. A client that the application has is used as it is and never closed. */
export type ValkeyTarget = string | ValkeyServer | ValkeyCluster | ValkeySentinel | ValkeyClient;

/** The same, checked. */
export type Target =
  | { readonly kind: 'client'; readonly client: ValkeyClient }
  | { readonly kind: 'server'; readonly server: Address; readonly tls: TlsOptions }
  | { readonly kind: 'cluster'; readonly nodes: readonly Address[]; readonly tls: TlsOptions }
  | {
      readonly kind: 'sentinel';
      readonly sentinels: readonly Address[];
      readonly primary: Address;
      readonly tls: TlsOptions;
    };

const WHERE = 'RateLimitModule';
const SENTINEL_PORT = 26_379;

/** @throws {RateLimitConfigError} for what is no Valkey, without the URLs in it, as they may hold passwords */
export function readTarget(written: unknown): Target {
  if (typeof written === 'string')
    return { kind: 'server', server: parseAddress('valkey', written), tls: {} };
  if (isClient(written)) return { kind: 'client', client: written };
  if (typeof written === 'object' && written !== null) {
    if ('cluster' in written) return readCluster(new OptionReader(`${WHERE} valkey`, written));
    if ('sentinels' in written) return readSentinel(new OptionReader(`${WHERE} valkey`, written));
    if ('url' in written) return readServer(new OptionReader(`${WHERE} valkey`, written));
  }
  throw new RateLimitConfigError(
    'INVALID_VALKEY',
    WHERE,
    "valkey must be a URL such as 'valkey://127.0.0.1:6379', { url }, { cluster: [urls] }, { sentinels: [urls], primary } " +
      `or a client of iovalkey, not ${show(written)}. Leave it out to count in memory.`,
  );
}

/**
 * Recognises a client that the application already has, by its shape: packages and versions differ, and so would
 * `instanceof`.
 */
export function isClient(value: unknown): value is ValkeyClient {
  if (typeof value !== 'object' || value === null) return false;
  const { evalsha, eval: evaluate, del } = value as Partial<Record<keyof ValkeyClient, unknown>>;
  return typeof evalsha === 'function' && typeof evaluate === 'function' && typeof del === 'function';
}

function readServer(options: OptionReader): Target {
  const server = parseAddress('valkey url', options.value('url'));
  const tls = readTls(options, [server]);
  options.done();
  return { kind: 'server', server, tls };
}

function readCluster(options: OptionReader): Target {
  const nodes = readNodes(options, 'cluster');
  const [{ database }] = nodes;
  if (database !== 0)
    throw options.refuse('cluster', 'URLs without a database: a Cluster has only 0', database);
  const tls = readTls(options, nodes);
  options.done();
  return { kind: 'cluster', nodes, tls };
}

function readSentinel(options: OptionReader): Target {
  const sentinels = readNodes(options, 'sentinels', SENTINEL_PORT);
  const primary = parseAddress('valkey primary', options.value('primary'));
  if (primary.hasPort) {
    throw options.refuse(
      'primary',
      "the name of what the Sentinels watch, as in 'valkey://user:password@orders/0'",
      'a URL with a port',
    );
  }
  const tls = readTls(options, [...sentinels, primary]);
  options.done();
  return { kind: 'sentinel', sentinels, primary, tls };
}

/** URLs of servers that are all spoken to in the same way. */
function readNodes(options: OptionReader, name: string, port?: number): readonly [Address, ...Address[]] {
  const urls = options.value(name);
  if (!Array.isArray(urls) || urls.length === 0) {
    throw options.refuse(name, "a list of URLs such as ['valkey://10.0.0.1:6379']", urls);
  }
  const nodes = urls.map((url, index) => parseAddress(`valkey ${name}[${index}]`, url, port));
  const [first, ...others] = nodes as [Address, ...Address[]];
  const other = others.findIndex((node) => manner(node) !== manner(first));
  if (other === -1) return [first, ...others];
  throw new RateLimitConfigError(
    `INVALID_${name.toUpperCase()}`,
    `${WHERE} valkey`,
    `${name}[${other + 1}] has another scheme, user, password or database than ${name}[0]. All must have the same.`,
  );
}

/** How a server is spoken to: all but where. */
function manner({ username, password, database, tls }: Address): string {
  return JSON.stringify([username, password, database, tls]);
}

/** TLS options beside a URL that asks for none would be ignored, and the traffic be readable. */
function readTls(options: OptionReader, addresses: readonly Address[]): TlsOptions {
  const tls = options.value('tls');
  if (tls === undefined) return {};
  if (typeof tls !== 'object' || tls === null || Array.isArray(tls)) {
    throw options.refuse('tls', "an object of Node's TLS options, such as { ca }", tls);
  }
  if (addresses.some((address) => address.tls)) return tls;
  throw new RateLimitConfigError(
    'INVALID_TLS',
    `${WHERE} valkey`,
    "tls has no effect with 'valkey://' or 'redis://'. Write 'valkeys://' or 'rediss://'.",
  );
}
