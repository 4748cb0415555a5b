import type { Tenant } from './tenant.js';

export const API_KEY_FIELD = 'x-api-key';

/** What Fastify's and Express' requests have in common, and what the guard adds. */
export interface TenantRequest {
  readonly headers: Readonly<Record<string, unknown>>;
  tenant?: Tenant;
}
