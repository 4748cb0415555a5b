import { Injectable } from '@nestjs/common';
import { Catalogue } from '../catalogue/catalogue.js';
import type { Tenant } from '../tenants/tenant.js';

export interface Report {
  readonly tenant: string;
  /** The day of the tenant's calendar, such as 2026-11-30. */
  readonly day: string;
  readonly timeZone: string;
  /** In cents. */
  readonly worth: number;
}

@Injectable()
export class Reports {
  constructor(private readonly catalogue: Catalogue) {}

  make({ name, timeZone }: Tenant): Report {
    const day = new Intl.DateTimeFormat('en-CA', { timeZone }).format(new Date());
    const worth = this.catalogue.list().reduce((sum, { price }) => sum + price, 0);
    return { tenant: name, day, timeZone, worth };
  }
}
