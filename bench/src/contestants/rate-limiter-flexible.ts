import { Redis } from 'iovalkey';
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterRes,
  RateLimiterValkey,
} from 'rate-limiter-flexible';
import { serveNest } from '../application/application.js';
import { guardAround, type Verdict } from '../application/guard.js';
import type { Setting, Variant, Variants } from './contestant.js';

export const variants: Variants = {
  memory: variant((setting) => ({ limiter: new RateLimiterMemory(numbers(setting)), close: async () => {} })),
  valkey: variant((setting) => inValkey(setting, {})),
  'valkey-block': variant((setting) =>
    inValkey(setting, {
      inMemoryBlockOnConsumed: setting.limit + 1,
      inMemoryBlockDuration: setting.windowMs / 1_000,
    }),
  ),
};

interface Made {
  readonly limiter: RateLimiterAbstract;
  close(): Promise<void>;
}

function numbers({ limit, windowMs }: Setting) {
  return { points: limit, duration: windowMs / 1_000 };
}

function inValkey(setting: Setting, block: object): Made {
  const client = new Redis(setting.valkey);
  const limiter = new RateLimiterValkey({ storeClient: client, ...numbers(setting), ...block });
  return { limiter, close: async () => client.disconnect() };
}

function variant(make: (setting: Setting) => Made): Variant {
  return {
    serve: (setting) => {
      const { limiter } = make(setting);
      return serveNest({ providers: [guardAround((client) => ask(limiter, client), setting)] });
    },
    decide: async (setting) => {
      const { limiter, close } = make(setting);
      return { decide: (client) => limiter.consume(client).catch(refused), close };
    },
  };
}

/** It rejects with the answer when it refuses, and with an error when it fails. */
function refused(answer: unknown): RateLimiterRes {
  if (answer instanceof RateLimiterRes) return answer;
  throw answer;
}

async function ask(limiter: RateLimiterAbstract, client: string): Promise<Verdict> {
  try {
    return verdict(await limiter.consume(client), true);
  } catch (answer) {
    return verdict(refused(answer), false);
  }
}

function verdict({ remainingPoints, msBeforeNext }: RateLimiterRes, allowed: boolean): Verdict {
  return { allowed, remaining: remainingPoints, waitMs: msBeforeNext };
}
