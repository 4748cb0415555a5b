import { Controller, Get, Post } from '@nestjs/common';
import { RateLimit } from 'nestjs-valkey-rate-limit';

@Controller('reports')
export class ReportsController {
  @Get()
  @RateLimit('requests', 'reports') // both count the tenant: one call, atomic
  list(): string {
    return 'Reports.';
  }

  @Post()
  @RateLimit('requests', 'reports', 'api') // the tenant and the address: two calls side by side
  create(): string {
    return 'Created.';
  }
}
