import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { APP_GUARD } from '@nestjs/core';
import {
  ThrottlerGuard,
  ThrottlerModule,
  type ThrottlerStorage,
  ThrottlerStorageService,
} from '@nestjs/throttler';
import { Redis } from 'ioredis';
import { serveNest } from '../application/application.js';
import { CLIENT_FIELD, type Decider, type Setting, type Variants } from './contestant.js';

const NAMES = ['first', 'second', 'third'];

export const variants: Variants = {
  memory: {
    serve: (setting) => serve(setting),
    decide: async (setting) => {
      const storage = new ThrottlerStorageService();
      return decider(storage, setting, async () => storage.onApplicationShutdown());
    },
  },
  redis: {
    serve: (setting) => serve(setting, redisStorage(setting).storage),
    decide: async (setting) => {
      const { storage, client } = redisStorage(setting);
      return decider(storage, setting, async () => client.disconnect());
    },
  },
};

function serve({ limit, windowMs, policies = 1 }: Setting, storage?: ThrottlerStorage) {
  const throttler = ThrottlerModule.forRoot({
    throttlers: NAMES.slice(0, policies).map((name) => ({ name, limit, ttl: windowMs })),
    getTracker: (request) => (request['headers'] as Record<string, string>)[CLIENT_FIELD]!,
    ...(storage && { storage }),
  });
  return serveNest({ imports: [throttler], providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }] });
}

/** Its storage takes an ioredis client only. */
function redisStorage({ valkey }: Setting) {
  const client = new Redis(valkey.replace(/^valkey:/, 'redis:'));
  return { client, storage: new ThrottlerStorageRedisService(client) };
}

function decider(storage: ThrottlerStorage, setting: Setting, close: () => Promise<void>): Decider {
  const { limit, windowMs } = setting;
  return { decide: (client) => storage.increment(client, windowMs, limit, windowMs, 'first'), close };
}
