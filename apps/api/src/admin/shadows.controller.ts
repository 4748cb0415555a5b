import { Controller, Get, UseGuards } from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import { RateLimit } from 'nestjs-valkey-rate-limit';
import { AdminGuard } from './admin.guard.js';
import { type ShadowCounts, Shadows } from './shadows.js';

@Controller('admin/shadows')
@UseGuards(AdminGuard)
@RateLimit('admin')
@ApiBearerAuth()
export class ShadowsController {
  constructor(private readonly shadows: Shadows) {}

  /** Of each policy in shadow, how many requests to this process it would have let pass, and refused. */
  @Get()
  list(): Readonly<Record<string, ShadowCounts>> {
    return this.shadows.counts();
  }
}
