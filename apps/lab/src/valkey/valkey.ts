// The one place where the lab meets a client and a server: what it measures beside the library needs both.
import { Redis } from 'iovalkey';
import { startValkey } from '../../../../tools/local-valkey.js';

export type { Redis } from 'iovalkey';

/** A server and how to end it, if it is ours to end. */
export interface Server {
  readonly url: string;
  readonly isOurs: boolean;
  stop(): Promise<void>;
}

/** The server that is named, or one of our own. */
export async function findServer(url: string | undefined): Promise<Server> {
  if (url) return { url, isOurs: false, stop: () => Promise.resolve() };
  const server = await startValkey();
  return { url: server.url, isOurs: true, stop: () => server.stop() };
}

/** A connection that waits for a busy machine, but fails at once where nobody listens. */
export async function connect(url: string): Promise<Redis> {
  if (!/^(valkey|redis)s?:\/\//.test(url)) {
    // Not shown: it may hold a password.
    throw new Error('VALKEY_URL must be a URL such as valkey://127.0.0.1:6379. Mend it, or unset it.');
  }
  const client = new Redis(url, { lazyConnect: true, connectTimeout: 2_000, retryStrategy: () => null });
  let cause: Error | undefined;
  client.on('error', (error: Error) => (cause = error));
  try {
    await client.connect();
  } catch (error) {
    throw new Error(
      `No Valkey answers at ${withoutCredentials(url)}: ${(cause ?? (error as Error)).message}. ` +
        'Start it, or unset VALKEY_URL to have one started.',
      { cause: error },
    );
  }
  return client;
}

/** Such as `valkey 8.0.1`; Redis, and what passes itself off as it, has no name of its own in INFO. */
export async function nameOf(client: Redis): Promise<string> {
  const info = await client.info('server');
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const valkey = field('valkey_version');
  return valkey === undefined ? `redis ${field('redis_version') ?? '?'}` : `valkey ${valkey}`;
}

export async function keysOf(client: Redis, prefix: string): Promise<string[]> {
  const found = new Set<string>();
  let cursor = '0';
  do {
    const [next, keys] = await client.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', 1_000);
    for (const key of keys) found.add(key);
    cursor = next;
  } while (cursor !== '0');
  return [...found];
}

function withoutCredentials(url: string): string {
  return url.replace(/\/\/.*@/, '//');
}
