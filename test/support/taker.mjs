// A process of its own that takes from one key as fast as it can, from the built package. Arguments: the server's URL,
// how many calls, the limit. Prints how many were allowed.
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimiter, RateLimitModule } from 'nestjs-valkey-rate-limit';

const [valkey, calls, limit] = process.argv.slice(2);

class TakerModule {}
Module({
  imports: [
    RateLimitModule.forRoot({
      valkey,
      deadline: '5s',
      onStoreFailure: 'closed',
      policies: { shared: { algorithm: 'token-bucket', limit: Number(limit), window: '1d' } },
    }),
  ],
})(TakerModule);

const app = await NestFactory.createApplicationContext(TakerModule, { logger: false });
const limiter = app.get(RateLimiter);
const decisions = await Promise.all(
  Array.from({ length: Number(calls) }, () => limiter.consume('shared', { key: 'everybody' })),
);
console.log(decisions.filter(({ outcome }) => outcome === 'allowed').length);
await app.close();
