import { Module } from '@nestjs/common';
import { Tenants } from './tenants.js';

@Module({ providers: [Tenants], exports: [Tenants] })
export class TenantsModule {}
