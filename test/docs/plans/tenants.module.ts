import { Injectable, Module } from '@nestjs/common';
import type { PlanName } from 'nestjs-valkey-rate-limit';

/** What stands for the database of the examples. */
@Injectable()
export class Tenants {
  readonly plans = new Map<string | undefined, string>();
  looked = 0;
  down = false;

  planOf(tenant: string | undefined): Promise<PlanName | undefined> {
    this.looked += 1;
    if (this.down) return Promise.reject(new Error('the database is down'));
    return Promise.resolve(this.plans.get(tenant) as PlanName | undefined);
  }
}

@Module({ providers: [Tenants], exports: [Tenants] })
export class TenantsModule {}
