// A process of its own with an application of HTTP handlers only, from the built package, where the packages of other
// contexts cannot be found. Prints the statuses of four requests.
import { register } from 'node:module';

const hook = `
  const missing = /^(?:@nestjs\\/(?:graphql|apollo|microservices|websockets|platform-ws|platform-socket\\.io)|graphql|ws)(?:\\/|$)/;
  export function resolve(specifier, context, next) {
    if (!missing.test(specifier)) return next(specifier, context);
    throw Object.assign(new Error(specifier + ' is not installed'), { code: 'ERR_MODULE_NOT_FOUND' });
  }
`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);

const { Controller, Get, Module } = await import('@nestjs/common');
const { NestFactory } = await import('@nestjs/core');
const { FastifyAdapter } = await import('@nestjs/platform-fastify');
const { RateLimit, RateLimitModule } = await import('nestjs-valkey-rate-limit');

class Things {
  list() {
    return 'things';
  }
}
const list = Object.getOwnPropertyDescriptor(Things.prototype, 'list');
Get()(Things.prototype, 'list', list);
RateLimit({ algorithm: 'fixed-window', limit: 2, window: '3650d' })(Things.prototype, 'list', list);
Controller('things')(Things);

class PlainModule {}
Module({ imports: [RateLimitModule.forRoot({})], controllers: [Things] })(PlainModule);

const app = await NestFactory.create(PlainModule, new FastifyAdapter(), { logger: ['error'] });
await app.listen(0, '127.0.0.1');
const statuses = [];
for (let count = 0; count < 4; count += 1) {
  statuses.push((await fetch(`${await app.getUrl()}/things`)).status);
}
console.log(statuses.join(' '));
await app.close();
