import { afterAll } from '@jest/globals';
import { Redis } from 'iovalkey';

const clients: Redis[] = [];

afterAll(() => {
  for (const client of clients) client.disconnect();
});

/** A connection beside the application's, to look and to tidy. It is ended after the file's last test. */
export function lookInto(url: string): Redis {
  const client = new Redis(url);
  clients.push(client);
  return client;
}

/** How often a server has run a command since its statistics were reset. */
export async function callsOf(client: Redis, command: string): Promise<number> {
  const stats = await client.info('commandstats');
  return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
}
