import { Redis, type RedisOptions } from 'iovalkey';
import { RateLimitConfigError } from '../../decision/config-error.js';
import { type Address, showAddress } from './address.js';
import { bootWithin, CONNECT_TIMEOUT_MS } from './boot-within.js';
import { type Connection, consequence } from './connection.js';
import type { TlsOptions } from './target.js';

/** The longest pause before the next attempt to connect. */
export const LONGEST_PAUSE_MS = 250;

/**
 * How we connect. iovalkey's defaults wait 10 s for a dead server and without end for a frozen one; these settings fail
 * at once, keep nothing for later and run nothing twice.
 *
 * @param deadlineMs the longest that anybody waits for an answer
 */
export function clientOptions({ username, password }: Address, deadlineMs: number) {
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // A server that says nothing for that long is given up, and what it was sent with it. Much longer than an answer
    // takes, because the client's timer does not know that this process was busy and has not read the answer yet; little
    // piles up meanwhile, as a store that missed one deadline is left alone.
    socketTimeout: Math.max(1_000, 3 * deadlineMs),
    disconnectTimeout: 100,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    maxLoadingRetryTime: 200,
    connectionName: 'nestjs-valkey-rate-limit',
  } satisfies RedisOptions;
}

/** A connection of our own to a server. */
export function connectServer(server: Address, tls: TlsOptions, deadlineMs: number): Connection {
  const { host, port } = server;
  return connectOne(`Valkey at ${showAddress(server)}`, server, deadlineMs, {
    host,
    port,
    ...(server.tls && { tls }),
  });
}

/** A connection of our own to whichever server the Sentinels say is the primary. */
export function connectBySentinel(
  sentinels: readonly Address[],
  primary: Address,
  tls: TlsOptions,
  deadlineMs: number,
): Connection {
  const [first] = sentinels;
  const place = `Valkey "${primary.host}" by the Sentinels at ${sentinels.map(showAddress).join(', ')}`;
  return connectOne(place, primary, deadlineMs, {
    name: primary.host,
    sentinels: sentinels.map(({ host, port }) => ({ host, port })),
    ...(first!.username !== undefined && { sentinelUsername: first!.username }),
    ...(first!.password !== undefined && { sentinelPassword: first!.password }),
    ...(first!.tls && { sentinelTLS: tls }),
    ...(primary.tls && { tls, enableTLSForSentinelMode: true }),
    sentinelCommandTimeout: CONNECT_TIMEOUT_MS,
    // Never left out: a client that gives up on its Sentinels once is lost for good.
    sentinelRetryStrategy: () => LONGEST_PAUSE_MS,
  });
}

function connectOne(place: string, address: Address, deadlineMs: number, options: RedisOptions): Connection {
  const { database } = address;
  let lastError: Error | undefined;
  const client = new Redis({
    ...clientOptions(address, deadlineMs),
    db: database,
    enableOfflineQueue: false,
    retryStrategy: (attempt) => Math.min(50 * attempt, LONGEST_PAUSE_MS),
    // What was the primary is a replica now: the address leads to another server.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    ...options,
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
        'RateLimitModule',
        `valkey names database ${database}, which the server does not have (${(error as Error).message}).`,
      );
      client.disconnect();
      throw lastError;
    }
  };
  client.on('error', (error: Error) => {
    if (consequence(error) === undefined) lastError = error;
  });
  client.on('ready', () => {
    lastError = undefined;
    requireDatabase().catch(() => undefined); // kept as lastError, or the connection is gone already
  });
  return {
    client,
    place,
    lastError: () => lastError,
    open: async () => {
      await bootWithin(client.connect(), () => lastError);
      await requireDatabase();
    },
    close: () => client.disconnect(),
  };
}

function isNoDatabase(error: unknown): boolean {
  return error instanceof Error && /DB index|SELECT is not allowed/i.test(error.message);
}
