import { Controller, Get, Module } from '@nestjs/common';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { expect, test } from '@jest/globals';
import { RateLimit, RateLimitHealth, RateLimitModule } from 'nestjs-valkey-rate-limit';
import { startApp } from '../support/app.js';
import { LimiterLogs } from '../support/logs.js';
import { until } from '../../tools/until.js';
import { ownValkey } from '../support/valkey.js';

@Controller()
class Routes {
  constructor(
    private readonly health: HealthCheckService,
    private readonly rateLimit: RateLimitHealth,
  ) {}

  @Get('health')
  @HealthCheck()
  check() {
    return this.health.check([() => this.rateLimit.check('limits')]);
  }

  @Get()
  @RateLimit({ algorithm: 'token-bucket', limit: 100, window: '1m' })
  list() {
    return [];
  }
}

test('tells terminus that the limiter goes on without its store, and when it is back', async () => {
  const server = await ownValkey();
  @Module({
    imports: [TerminusModule, RateLimitModule.forRoot({ valkey: server.url })],
    controllers: [Routes],
  })
  class Root {}
  const app = await startApp(Root, 'fastify', { module: new LimiterLogs().install });
  const health = async () => {
    const response = await app.fetch('/health');
    return [response.status, ((await response.json()) as { details: unknown }).details];
  };
  const up = [200, { limits: { status: 'up', store: 'valkey', circuit: 'closed' } }];
  expect(await health()).toEqual(up);

  server.kill('SIGSTOP');
  await app.fetch('/');
  expect(await health()).toEqual([200, { limits: { status: 'degraded', store: 'valkey', circuit: 'open' } }]);

  server.kill('SIGCONT');
  await until('it is up again', async () => {
    await app.fetch('/');
    return JSON.stringify(await health()) === JSON.stringify(up);
  });
});
