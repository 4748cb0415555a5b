import { Controller, Get } from '@nestjs/common';
import { RateLimit } from 'nestjs-valkey-rate-limit';
import { CurrentTenant, ForTenants } from '../tenants/for-tenants.js';
import type { Tenant } from '../tenants/tenant.js';
import { type Report, Reports } from './reports.js';

@Controller('v1/reports')
@ForTenants()
@RateLimit('requests', 'reports')
export class ReportsController {
  constructor(private readonly reports: Reports) {}

  @Get()
  make(@CurrentTenant() tenant: Tenant): Report {
    return this.reports.make(tenant);
  }
}
