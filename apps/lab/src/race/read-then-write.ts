import type { Redis } from '../valkey/valkey.js';

/**
 * The limiter that is written first and is wrong: it reads the count, compares it here, and writes. All that come
 * before the first has written have read the same count.
 */
export async function readThenWrite(
  client: Redis,
  key: string,
  { requests, limit }: { requests: number; limit: number },
): Promise<number> {
  const request = async () => {
    const count = Number((await client.get(key)) ?? 0);
    if (count >= limit) return false;
    await client.multi().incr(key).expire(key, 3_600).exec();
    return true;
  };
  const passed = await Promise.all(Array.from({ length: requests }, request));
  return passed.filter(Boolean).length;
}
