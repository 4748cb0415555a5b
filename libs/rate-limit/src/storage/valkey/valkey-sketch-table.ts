import type { SketchTable } from '../sketch-table.js';
import { type Scripts, toScript } from './scripts.js';

/** The field that says when each of the others ends; no process is called like it. */
const ENDS = ':ends';

/** Nobody waits for it, and a thousand keys of a hundred processes take longer than one decision. */
const DEADLINE_MS = 5_000;

/**
 * KEYS[1] the hash; ARGV[1] whose text; ARGV[2] the text; ARGV[3] for how long, in milliseconds.
 * Removes what has ended, as the hash lives for as long as somebody writes to it. Replies nothing.
 */
const WRITE = toScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local known, ends = pcall(cjson.decode, redis.call('HGET', KEYS[1], '${ENDS}') or '{}')
if not known or type(ends) ~= 'table' then ends = {} end
for from, at in pairs(ends) do
  -- One that is without end could not be written again.
  if type(at) ~= 'number' or at <= now or at == math.huge then
    redis.call('HDEL', KEYS[1], from)
    ends[from] = nil
  end
end
ends[ARGV[1]] = now + ARGV[3]
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2], '${ENDS}', cjson.encode(ends))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
`);

/** KEYS[1] the hash. Replies who has left a text that has not ended, and that text, one after the other. */
const READ = toScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local known, ends = pcall(cjson.decode, redis.call('HGET', KEYS[1], '${ENDS}') or '{}')
if not known or type(ends) ~= 'table' then return {} end
local found = {}
for from, at in pairs(ends) do
  local text = type(at) == 'number' and at > now and redis.call('HGET', KEYS[1], from)
  if text then
    found[#found + 1] = from
    found[#found + 1] = text
  end
end
return found
`);

/** A hash in Valkey for each subject. */
export class ValkeySketchTable implements SketchTable {
  constructor(
    private readonly scripts: Scripts,
    private readonly prefix: string,
  ) {}

  async write(about: string, from: string, text: string, ttlMs: number): Promise<void> {
    await this.scripts.run(WRITE, 1, [this.prefix + about, from, text, String(ttlMs)], DEADLINE_MS);
  }

  async read(about: string): Promise<ReadonlyMap<string, string>> {
    const flat = (await this.scripts.run(READ, 1, [this.prefix + about], DEADLINE_MS)) as string[];
    const found = new Map<string, string>();
    for (let index = 0; index < flat.length; index += 2) found.set(flat[index]!, flat[index + 1]!);
    return found;
  }
}
