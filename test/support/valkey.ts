import { afterAll } from '@jest/globals';
import { type LocalValkey, type LocalValkeyOptions, startValkey } from '../../tools/local-valkey.js';

const started: LocalValkey[] = [];

afterAll(() => Promise.all(started.map((server) => server.stop())));

/** A server of this test file's own, to harm or to keep others' keys out. It is ended after the file's last test. */
export async function ownValkey(options?: LocalValkeyOptions): Promise<LocalValkey> {
  const server = await startValkey(options);
  started.push(server);
  return server;
}
