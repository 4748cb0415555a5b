import { createRequire } from 'node:module';
import rateLimit, { type RateLimitPluginOptions } from '@fastify/rate-limit';
import { HttpException } from '@nestjs/common';
import { Redis } from 'ioredis';
import { serveNest } from '../application/application.js';
import { CLIENT_FIELD, type Setting, type Variants } from './contestant.js';

/** Room for every client of the million, as what it evicts is free again. */
const CACHE = 1_000_000;

export const variants: Variants = {
  memory: {
    serve: (setting) => serve(setting, { cache: CACHE }),
    decide: async (setting) => inMemory(setting),
  },
  redis: {
    serve: (setting) => serve(setting, { redis: new Redis(setting.valkey.replace(/^valkey:/, 'redis:')) }),
  },
};

function serve({ limit, windowMs }: Setting, store: RateLimitPluginOptions) {
  return serveNest({
    prepare: async (app) => {
      await app.register(rateLimit, {
        max: limit,
        timeWindow: windowMs,
        // Nest would make a 500 of the plugin's own error.
        errorResponseBuilder: () => new HttpException('Too many requests', 429),
        keyGenerator: (request) => request.headers[CLIENT_FIELD] as string,
        ...store,
      });
    },
  });
}

interface Store {
  incr(key: string, done: (error: Error | null, count: unknown) => void, windowMs: number, max: number): void;
}

function done(): void {}

/** Its store is no part of its public face, but it is there. */
function inMemory({ limit, windowMs }: Setting) {
  const load = createRequire(import.meta.url);
  const LocalStore = load('@fastify/rate-limit/store/LocalStore.js') as new (...options: unknown[]) => Store;
  const store = new LocalStore(false, false, CACHE);
  return { decide: (client: string) => store.incr(client, done, windowMs, limit), close: async () => {} };
}
