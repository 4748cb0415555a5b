import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { key, RateLimit, RateLimitModule } from 'nestjs-valkey-rate-limit';

@Controller('quotes')
class QuotesController {
  @Get()
  @RateLimit({ algorithm: 'token-bucket', limit: 5, window: '10s', key: key.ip() })
  list() {
    return ['Make it work, make it right, make it fast.'];
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ valkey: 'valkey://127.0.0.1:6379' })], // or forRoot({}): memory
  controllers: [QuotesController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, new FastifyAdapter());
await app.listen(3000);
