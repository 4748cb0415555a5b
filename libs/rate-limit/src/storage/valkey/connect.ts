import { Redis } from 'iovalkey';
import { RateLimitConfigError, show } from '../../decision/config-error.js';

/** What the store needs of a client. iovalkey's and ioredis' clients have it. */
export interface ValkeyClient {
  evalsha(sha: string, keys: number, ...keysAndArgs: string[]): Promise<unknown>;
  eval(source: string, keys: number, ...keysAndArgs: string[]): Promise<unknown>;
  del(key: string): Promise<unknown>;
}

export interface Connection {
  readonly client: ValkeyClient;
  /** Where to, without the password, for messages. */
  readonly address: string;
  /** The last thing that went wrong with the connection, to explain a failure. */
  lastError(): Error | undefined;
  /** Connects; rejects when the first attempt fails, and goes on trying. */
  open(): Promise<unknown>;
  close(): void;
}

const SCHEMES = ['valkey:', 'valkeys:', 'redis:', 'rediss:'];

/** How long a boot may wait for the connection. */
const CONNECT_TIMEOUT_MS = 1_000;

/**
 * Recognises a client that the application already has, by its shape: packages and versions differ, and so would
 * `instanceof`.
 */
export function isClient(value: unknown): value is ValkeyClient {
  if (typeof value !== 'object' || value === null) return false;
  const { evalsha, eval: evaluate, del } = value as Partial<Record<keyof ValkeyClient, unknown>>;
  return typeof evalsha === 'function' && typeof evaluate === 'function' && typeof del === 'function';
}

/**
 * Opens a connection of our own to a URL, or takes the client that the application has.
 *
 * @throws {RateLimitConfigError} for what is neither
 */
export function connect(target: unknown): Connection {
  if (typeof target === 'string') return open(target);
  if (!isClient(target)) {
    throw new RateLimitConfigError(
      'INVALID_VALKEY',
      'RateLimitModule',
      `valkey must be a URL such as 'valkey://127.0.0.1:6379' or an iovalkey client, not ${show(target)}. ` +
        'Leave it out to count in memory.',
    );
  }
  if ((target as { isCluster?: unknown }).isCluster === true) {
    throw new RateLimitConfigError(
      'CLUSTER',
      'RateLimitModule',
      'valkey is a Cluster client, and only single servers are supported.',
    );
  }
  return {
    client: target,
    address: "the application's client",
    lastError: () => undefined,
    open: () => Promise.resolve(),
    close: () => undefined,
  };
}

function open(text: string): Connection {
  const url = parseUrl(text);
  const address = `${url.hostname}:${url.port || '6379'}`;
  let lastError: Error | undefined;

  // iovalkey's defaults wait 10 s for a dead server and without end for a frozen one. These settings fail at once,
  // keep nothing for later and run nothing twice.
  const client = new Redis(text, {
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: 150,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (attempt) => Math.min(50 * attempt, 500),
    maxLoadingRetryTime: 200,
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    connectionName: 'nestjs-valkey-rate-limit',
  });
  client.on('error', (error: Error) => (lastError = error));
  client.on('ready', () => (lastError = undefined));

  return {
    client,
    address,
    lastError: () => lastError,
    open: () => client.connect(),
    close: () => client.disconnect(),
  };
}

function parseUrl(text: string): URL {
  const wanted = `a URL such as 'valkey://user:password@127.0.0.1:6379/0' (${SCHEMES.join(', ')})`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !SCHEMES.includes(url.protocol)) {
    // Not shown: it may hold a password.
    throw new RateLimitConfigError(
      'INVALID_VALKEY',
      'RateLimitModule',
      `valkey must be ${wanted}, and it is not.`,
    );
  }
  if (url.search !== '') {
    throw new RateLimitConfigError(
      'INVALID_VALKEY',
      'RateLimitModule',
      `valkey must be ${wanted} without "${url.search}": the client would ignore or misread settings in a URL.`,
    );
  }
  return url;
}
