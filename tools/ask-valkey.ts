import { Redis } from 'iovalkey';
import type { LocalValkey } from './local-valkey.js';

export type Command = readonly [string, ...(string | number)[]];

const HOST = '127.0.0.1';
const ANSWER_LIMIT_MS = 1_000;

/** Runs a command on a connection of its own that does not wait for a server that is gone or frozen. */
export async function ask(server: LocalValkey, ...command: Command): Promise<unknown> {
  const [answer] = await askAll(server, [command]);
  return answer;
}

export async function askAll(server: LocalValkey, commands: readonly Command[]): Promise<unknown[]> {
  const client = new Redis(server.port, HOST, {
    connectTimeout: ANSWER_LIMIT_MS,
    commandTimeout: ANSWER_LIMIT_MS,
    enableReadyCheck: false,
    retryStrategy: () => null,
  });
  client.on('error', () => {}); // the commands fail with it
  try {
    return await Promise.all(commands.map(([name, ...args]) => client.call(name, args)));
  } finally {
    // A connection that is closed already it would wait for, 2 s, in vain.
    if (client.status !== 'end') client.disconnect();
  }
}
