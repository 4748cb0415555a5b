import { Controller, Get } from '@nestjs/common';
import { RateLimit } from 'nestjs-valkey-rate-limit';
import { ForTenants } from '../tenants/for-tenants.js';
import { Catalogue, type Product } from './catalogue.js';

/** The catalogue again, by the tenant's plan. */
@Controller('v1/products')
@ForTenants()
@RateLimit('requests')
export class TenantProductsController {
  constructor(private readonly catalogue: Catalogue) {}

  @Get()
  list(): readonly Product[] {
    return this.catalogue.list();
  }
}
