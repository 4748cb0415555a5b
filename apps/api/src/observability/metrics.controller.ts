import { Controller, Get, Header, UseGuards } from '@nestjs/common';
import { ApiBearerAuth, ApiProduces } from '@nestjs/swagger';
import { Priority, RateLimit } from 'nestjs-valkey-rate-limit';
import { AdminGuard } from '../admin/admin.guard.js';
import { collect } from './meters.js';

@Controller('metrics')
@Priority('critical')
@UseGuards(AdminGuard)
@ApiBearerAuth()
export class MetricsController {
  /** For Prometheus. It may come as often as it likes, and who guesses the token may not. */
  @Get()
  @RateLimit('admin', { settle: 'on-success-refund' })
  @Header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8')
  @ApiProduces('text/plain')
  metrics(): Promise<string> {
    return collect();
  }
}
