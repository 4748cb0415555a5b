// A process of its own that works in places which all processes share, from the built package. Arguments: the server's URL,
// how many places there are, how long a lease is, and where it tells what it does. The time it tells is that of the machine,
// as Valkey's is, and lies within the time in which it holds a place.
import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, Get, Module, Query } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { key, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-valkey-rate-limit';

const [valkey, limit, lease, counter] = process.argv.slice(2);

async function tell(what) {
  const body = JSON.stringify({ pid: process.pid, at: Date.now(), ...what });
  await (await fetch(counter, { method: 'POST', body })).arrayBuffer();
}

let works = 0;

class Work {
  async work(milliseconds) {
    const work = `${process.pid}:${(works += 1)}`;
    await tell({ begun: work });
    await sleep(Number(milliseconds));
    await tell({ ended: work });
  }
}
Controller()(Work);
const handler = Object.getOwnPropertyDescriptor(Work.prototype, 'work');
Get('work')(Work.prototype, 'work', handler);
Query('for')(Work.prototype, 'work', 0);
RateLimit('places')(Work.prototype, 'work', handler);

class WorkerModule {}
Module({
  imports: [
    RateLimitModule.forRoot({
      valkey,
      deadline: '300ms',
      onStoreFailure: 'closed',
      policies: { places: { algorithm: 'concurrency', limit: Number(limit), lease, key: key.global() } },
    }),
  ],
  controllers: [Work],
})(WorkerModule);

const app = await NestFactory.create(WorkerModule, new FastifyAdapter(), { logger: ['error'] });
app.get(RateLimiter).decisions$.subscribe((decision) => {
  if (decision.lease !== undefined) void tell({ lease: decision.lease });
});
await app.listen(0, '127.0.0.1');
console.log(`Listening on ${await app.getUrl()}`);
