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

const WHERE = 'RateLimitModule';
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
 * @param deadlineMs the longest that anybody waits for an answer
 * @throws {RateLimitConfigError} for what is neither
 */
export function connect(target: unknown, deadlineMs: number): Connection {
  if (typeof target === 'string') return open(target, deadlineMs);
  if (!isClient(target)) {
    throw new RateLimitConfigError(
      'INVALID_VALKEY',
      WHERE,
      `valkey must be a URL such as 'valkey://127.0.0.1:6379' or an iovalkey client, not ${show(target)}. ` +
        'Leave it out to count in memory.',
    );
  }
  if ((target as { isCluster?: unknown }).isCluster === true) {
    throw new RateLimitConfigError(
      'CLUSTER',
      WHERE,
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

function open(text: string, deadlineMs: number): Connection {
  const url = parseUrl(text);
  const database = Number(url.pathname.slice(1));
  let lastError: Error | undefined;

  // iovalkey's defaults wait 10 s for a dead server and without end for a frozen one. These settings fail at once,
  // keep nothing for later and run nothing twice.
  const client = new Redis(text, {
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // A server that says nothing for that long is given up, and what it was sent with it. Much longer than an answer
    // takes, because the client's timer does not know that this process was busy and has not read the answer yet; little
    // piles up meanwhile, as a store that missed one deadline is left alone.
    socketTimeout: Math.max(1_000, 3 * deadlineMs),
    disconnectTimeout: 100,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (attempt) => Math.min(50 * attempt, 250),
    maxLoadingRetryTime: 200,
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    connectionName: 'nestjs-valkey-rate-limit',
  });
  // The client goes on in database 0 when the server does not have the one of the URL. Nobody counts there.
  const requireDatabase = async () => {
    if (database === 0) return;
    try {
      await client.select(database);
    } catch (error) {
      if (!isNoDatabase(error)) throw error;
      lastError = new RateLimitConfigError(
        'NO_DATABASE',
        WHERE,
        `valkey names database ${database}, which the server does not have (${(error as Error).message}).`,
      );
      client.disconnect();
      throw lastError;
    }
  };
  client.on('error', (error: Error) => (lastError = error));
  client.on('ready', () => {
    lastError = undefined;
    requireDatabase().catch(() => undefined); // kept as lastError, or the connection is gone already
  });

  return {
    client,
    address: `${url.hostname}:${url.port || '6379'}`,
    lastError: () => lastError,
    open: async () => {
      await client.connect();
      await requireDatabase();
    },
    close: () => client.disconnect(),
  };
}

function isNoDatabase(error: unknown): boolean {
  return error instanceof Error && /DB index|SELECT is not allowed/i.test(error.message);
}

/** @throws {RateLimitConfigError} without the URL in it, as it may hold a password */
function parseUrl(text: string): URL {
  const wanted = `a URL such as 'valkey://user:password@127.0.0.1:6379/0' (${SCHEMES.join(', ')})`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const problem = urlProblem(text, url);
  if (url !== undefined && problem === undefined) return url;
  throw new RateLimitConfigError('INVALID_VALKEY', WHERE, `valkey must be ${wanted}: ${problem}.`);
}

function urlProblem(text: string, url: URL | undefined): string | undefined {
  if (url === undefined) return 'it is no URL';
  if (!SCHEMES.includes(url.protocol)) return `it begins with "${url.protocol}"`;
  if (!text.startsWith(`${url.protocol}//`) || url.hostname === '') return 'it names no host after "//"';
  if (!/^\/?\d{0,5}$/.test(url.pathname)) return 'what follows the host is not the number of a database';
  if (url.search !== '' || url.hash !== '')
    return 'settings in a URL would be ignored or misread, so "?" and "#" are refused';
  return undefined;
}
