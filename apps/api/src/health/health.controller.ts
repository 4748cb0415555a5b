import { Controller, Get } from '@nestjs/common';
import { SkipRateLimit } from 'nestjs-valkey-rate-limit';

/** Asked by whoever watches this API, as often as they like. */
@Controller('health')
@SkipRateLimit()
export class HealthController {
  @Get()
  health(): { status: 'ok' } {
    return { status: 'ok' };
  }
}
