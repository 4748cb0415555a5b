/** What the store needs of a client. iovalkey's and ioredis' clients have it, those for Cluster as well. */
export interface ValkeyClient {
  evalsha(sha: string, keys: number, ...keysAndArgs: string[]): Promise<unknown>;
  eval(source: string, keys: number, ...keysAndArgs: string[]): Promise<unknown>;
  del(...keys: string[]): Promise<unknown>;
}

export interface Connection {
  readonly client: ValkeyClient;
  /** Where to, without the password, for messages: `Valkey at 127.0.0.1:6379`. */
  readonly place: string;
  /** Of a Cluster: which node answers for a key. Left out: there is one for all. */
  readonly shardOf?: (key: string) => string;
  /** The last thing that went wrong with the connection, to explain a failure. */
  lastError(): Error | undefined;
  /** Connects; rejects when the first attempt fails, and goes on trying. */
  open(): Promise<unknown>;
  close(): void;
}

/** What the client says when something else has gone wrong before, in words for somebody who does not know it. */
const CONSEQUENCES: readonly (readonly [RegExp, string])[] = [
  [/max retries per request/, 'the connection was lost'],
  [/Connection is closed/, 'the connection was lost'],
  [/isn't writeable|isn't ready/, 'no connection'],
];

/** In other words, if an error only follows from another one; `undefined` if it has something to say itself. */
export function consequence(error: Error): string | undefined {
  return CONSEQUENCES.find(([pattern]) => pattern.test(error.message))?.[1];
}

/** What is wrong, without the place in a script at which the server noticed it. */
export function problemOf(error: Error): string {
  return consequence(error) ?? error.message.replace(/\.? script: [\da-f]{40}.*$/s, '');
}
