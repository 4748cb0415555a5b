import type { OverrideTable, Snapshot } from '../override-table.js';
import { type Scripts, toScript } from './scripts.js';

/** The field with the version, which is no policy's, as their names begin with a letter. */
const VERSION = ':version';

/** Nobody waits for it, and ten thousand fields take longer than one decision. */
const READ_DEADLINE_MS = 5_000;

/**
 * KEYS[1] the hash; ARGV[1] the version that is known.
 * Replies nil if the hash still has it, else its version and then every field with its text.
 */
const READ = toScript(`
local version = redis.call('HGET', KEYS[1], '${VERSION}') or ''
if version == ARGV[1] then return false end
return { version, redis.call('HGETALL', KEYS[1]) }
`);

/**
 * KEYS[1] the hash; ARGV[1] a field; ARGV[2] its text, or '' to remove it; ARGV[3] how many fields there may be;
 * ARGV[4..] fields to be removed. Replies 1, or 0 if there was no room.
 *
 * The version is a time and not a count: a server that has lost the hash would count to the same number again.
 */
const WRITE = toScript(`
for i = 4, #ARGV do redis.call('HDEL', KEYS[1], ARGV[i]) end
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 and redis.call('HLEN', KEYS[1]) > ARGV[3] + 0 then return 0 end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
local t = redis.call('TIME')
redis.call('HSET', KEYS[1], '${VERSION}', t[1] .. '.' .. t[2])
return 1
`);

/** A hash in Valkey, for all instances. */
export class ValkeyOverrideTable implements OverrideTable {
  readonly shared = true;

  constructor(
    private readonly scripts: Scripts,
    private readonly key: string,
  ) {}

  async read(known: string): Promise<Snapshot | undefined> {
    const reply = (await this.scripts.run(READ, 1, [this.key, known], READ_DEADLINE_MS)) as
      [string, string[]] | null;
    if (reply === null) return undefined;
    const [version, flat] = reply;
    const fields = new Map<string, string>();
    for (let index = 0; index < flat.length; index += 2) fields.set(flat[index]!, flat[index + 1]!);
    fields.delete(VERSION);
    return { version, fields };
  }

  async write(
    field: string,
    text: string | undefined,
    gone: readonly string[],
    most: number,
  ): Promise<boolean> {
    const args = [this.key, field, text ?? '', String(most), ...gone];
    return (await this.scripts.run(WRITE, 1, args)) === 1;
  }
}
