import { Controller, Get } from '@nestjs/common';
import { HealthCheck, type HealthCheckResult, HealthCheckService } from '@nestjs/terminus';
import { RateLimitHealth, SkipRateLimit } from 'nestjs-valkey-rate-limit';

/** Asked by whoever watches this API, as often as they like. */
@Controller('health')
@SkipRateLimit()
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly rateLimit: RateLimitHealth,
  ) {}

  @Get()
  @HealthCheck()
  check(): Promise<HealthCheckResult> {
    return this.health.check([() => this.rateLimit.check('rateLimit')]);
  }
}
