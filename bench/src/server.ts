/**
 * The sample's catalogue under one of the limiters that are compared, on a port of its own. Prints the port. Argument:
 * `none`, `memory` or `valkey` (then VALKEY_URL says where).
 */
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { key, RateLimitModule, type RateLimitPolicy } from 'nestjs-valkey-rate-limit';
import { Catalogue } from '../../apps/api/dist/catalogue/catalogue.js';
import { ProductsController } from '../../apps/api/dist/catalogue/products.controller.js';

/** High enough that nothing is refused: what is measured is the cost of deciding. */
const api: RateLimitPolicy = {
  algorithm: 'token-bucket',
  limit: 1_000_000,
  window: '1s',
  key: key.header('x-client'),
};

const variant = process.argv[2];
const valkey = variant === 'valkey' ? process.env['VALKEY_URL'] : undefined;
const limiter = RateLimitModule.forRoot({ policies: { api }, ...(valkey && { valkey }) });

class BenchModule {}
Module({
  imports: variant === 'none' ? [] : [limiter],
  controllers: [ProductsController],
  providers: [Catalogue],
})(BenchModule);

const app = await NestFactory.create<NestFastifyApplication>(BenchModule, new FastifyAdapter(), {
  logger: false,
});
await app.listen(0, '127.0.0.1');
console.log(new URL(await app.getUrl()).port);
