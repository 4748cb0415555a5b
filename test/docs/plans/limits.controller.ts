import { Body, Controller, Delete, Get, Param, ParseIntPipe, Put, UseGuards } from '@nestjs/common';
import { LimitOverrides } from 'nestjs-valkey-rate-limit';
import { AdminGuard } from './admin.guard.js';

const A_WEEK_MS = 7 * 86_400_000;

@Controller('admin/limits')
@UseGuards(AdminGuard)
export class LimitsController {
  constructor(private readonly overrides: LimitOverrides) {}

  @Get()
  list() {
    return this.overrides.list('api');
  }

  @Put(':tenant')
  change(@Param('tenant') tenant: string, @Body('limit', ParseIntPipe) limit: number) {
    return this.overrides.set('api', tenant, { limit, until: Date.now() + A_WEEK_MS });
  }

  @Delete(':tenant')
  restore(@Param('tenant') tenant: string) {
    return this.overrides.delete('api', tenant);
  }
}
