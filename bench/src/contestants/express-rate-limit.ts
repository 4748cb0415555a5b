import { rateLimit } from 'express-rate-limit';
import { RedisStore } from 'rate-limit-redis';
import { createClient } from 'redis';
import { serveExpress } from '../application/express.js';
import { CLIENT_FIELD, type Setting, type Variants } from './contestant.js';

export const variants: Variants = { redis: { serve } };

async function serve({ valkey, limit, windowMs }: Setting) {
  const client = createClient({ url: valkey.replace(/^valkey:/, 'redis:') });
  await client.connect();
  return serveExpress((app) => {
    app.use(
      rateLimit({
        limit,
        windowMs,
        keyGenerator: (request) => request.headers[CLIENT_FIELD] as string,
        store: new RedisStore({ sendCommand: (...command: string[]) => client.sendCommand(command) }),
      }),
    );
  });
}
