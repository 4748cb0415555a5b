// An application of its own, on the built package, for Valkey's worst day. Arguments, as JSON: the adapter, the module's
// options, the limit of the routes and that of a burst. Tells its parent where it listens, and answers what it is asked.
// It handles no error and no warning, so that Node prints what nobody else took care of, and ends by itself when it has
// nothing left to do.
import { setTimeout as sleep } from 'node:timers/promises';
import { ConsoleLogger, Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { key, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-valkey-rate-limit';

const [adapter, options, limit, burst] = process.argv.slice(2).map((argument) => JSON.parse(argument));

/** A window that no run outlives, and whose edges are years apart. */
const LONG = '3650d';

/** Who is counted beside the requests: a client, whose shard of a Cluster is one that fails. */
const SOMEBODY = 'worn';

class Routes {
  local() {
    return 'ok';
  }
  open() {
    return 'ok';
  }
  closed() {
    return 'ok';
  }
}
Controller()(Routes);
for (const route of ['local', 'open', 'closed']) {
  const handler = Object.getOwnPropertyDescriptor(Routes.prototype, route);
  Get(route)(Routes.prototype, route, handler);
  const counted = { algorithm: 'fixed-window', limit, window: LONG, key: key.header('x-client') };
  RateLimit({ ...counted, name: route, onStoreFailure: route })(Routes.prototype, route, handler);
}

class Root {}
Module({
  imports: [
    RateLimitModule.forRoot({
      ...options,
      // An outage has one line at its beginning and one at its end, and nothing else is to be in the log.
      telemetry: { refusals: 'off' },
      policies: {
        canary: { algorithm: 'fixed-window', limit: 1_000_000, window: LONG },
        burst: { algorithm: 'fixed-window', limit: burst, window: LONG },
      },
    }),
  ],
  controllers: [Routes],
})(Root);

async function makeAdapter() {
  if (adapter === 'express') return new (await import('@nestjs/platform-express')).ExpressAdapter();
  return new (await import('@nestjs/platform-fastify')).FastifyAdapter();
}

const logger = new ConsoleLogger({ json: true, logLevels: ['log', 'warn', 'error', 'fatal'] });
const app = await NestFactory.create(Root, await makeAdapter(), { logger });
await app.listen(0, '127.0.0.1');
const limiter = app.get(RateLimiter);

const answers = {
  /** Bytes in use after everything that can go has gone. */
  heap() {
    globalThis.gc();
    globalThis.gc();
    return process.memoryUsage().heapUsed;
  },
  /** Who decides now. It takes something, because a Valkey that cannot write may still be able to look. */
  async store() {
    return (await limiter.consume('canary', { key: SOMEBODY })).store;
  },
  /** Decisions, some at a time, counted by what became of them. */
  async burst(decisions) {
    const outcomes = {};
    let left = decisions;
    const worker = async () => {
      while (left-- > 0) {
        const { store, outcome } = await limiter.consume('burst', { key: SOMEBODY });
        const name = `${outcome} by ${store}`;
        outcomes[name] = (outcomes[name] ?? 0) + 1;
        if (left % 20 === 0) await sleep(1); // requests want to be answered as well
      }
    };
    await Promise.all(Array.from({ length: 4 }, worker));
    return outcomes;
  },
};

const answer = async ({ id, question, argument }) => {
  process.send({ id, answer: await answers[question](argument) });
};
/** Without its parent it has nothing to do. */
const orphaned = () => process.exit(1);

process.on('message', answer);
process.once('disconnect', orphaned);
process.once('SIGTERM', async () => {
  await app.close();
  process.off('disconnect', orphaned);
  process.disconnect();
});
process.send({ listening: await app.getUrl() });
