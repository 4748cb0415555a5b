import { Redis, type Result } from 'iovalkey';
import { serveNest } from '../application/application.js';
import { guardAround, type Verdict } from '../application/guard.js';
import type { Setting, Variants } from './contestant.js';

/** What one writes in an afternoon: the floor for those who would rather not take a library. */
export const variants: Variants = {
  memory: {
    serve: (setting) => serveNest({ providers: [guardAround(countInMap(setting), setting)] }),
    decide: async (setting) => ({ decide: countInMap(setting), close: async () => {} }),
  },
  valkey: {
    serve: (setting) => {
      const { take } = bucketInValkey(setting);
      return serveNest({ providers: [guardAround(take, setting)] });
    },
    decide: async (setting) => {
      const { take, close } = bucketInValkey(setting);
      return { decide: take, close };
    },
  },
};

/** A fixed window for each client that begins with its first request. Forgets nobody. */
function countInMap({ limit, windowMs }: Setting): (client: string) => Verdict {
  const counts = new Map<string, { used: number; endsAt: number }>();
  return (client) => {
    const now = Date.now();
    let count = counts.get(client);
    if (count === undefined) counts.set(client, (count = { used: 0, endsAt: now + windowMs }));
    else if (count.endsAt <= now) {
      count.used = 0;
      count.endsAt = now + windowMs;
    }
    const allowed = count.used < limit;
    if (allowed) count.used += 1;
    return { allowed, remaining: limit - count.used, waitMs: count.endsAt - now };
  };
}

/**
 * A token bucket as a hash, as tutorials have it. KEYS[1]: the client's bucket. ARGV[1]: capacity, ARGV[2]: tokens per
 * millisecond. Returns whether it is allowed, what remains, and the milliseconds until one more is there.
 */
const BUCKET = `
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local capacity, rate = tonumber(ARGV[1]), tonumber(ARGV[2])
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = tonumber(bucket[1]) or capacity
local at = tonumber(bucket[2]) or ms
tokens = math.min(capacity, tokens + math.max(0, ms - at) * rate)
local allowed = 0
if tokens >= 1 then
  tokens = tokens - 1
  allowed = 1
end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', string.format('%d', ms))
redis.call('PEXPIRE', KEYS[1], math.ceil(capacity / rate))
local wait = 0
if tokens < 1 then wait = math.ceil((1 - tokens) / rate) end
return { allowed, math.floor(tokens), wait }
`;

declare module 'iovalkey' {
  interface RedisCommander<Context> {
    takeToken(key: string, capacity: number, rate: number): Result<[number, number, number], Context>;
  }
}

function bucketInValkey({ valkey, limit, windowMs }: Setting) {
  const client = new Redis(valkey);
  client.defineCommand('takeToken', { numberOfKeys: 1, lua: BUCKET });
  const rate = limit / windowMs;
  const take = async (who: string): Promise<Verdict> => {
    const [allowed, remaining, waitMs] = await client.takeToken(`hand:${who}`, limit, rate);
    return { allowed: allowed === 1, remaining, waitMs };
  };
  return { take, close: async () => client.disconnect() };
}
