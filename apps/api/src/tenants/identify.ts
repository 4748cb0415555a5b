import type { Identify } from 'nestjs-valkey-rate-limit';
import { API_KEY_FIELD } from './tenant-request.js';
import type { Tenants } from './tenants.js';

/**
 * Whom the limiter counts. It decides before the guards of controllers have run, and so asks for the tenant itself: the
 * API key is in the request, on Fastify as on Express.
 */
export function identifyBy(tenants: Tenants): Identify {
  return {
    tenant: ({ request }) => tenants.findByApiKey(request.headers[API_KEY_FIELD])?.id,
    plan: ({ tenant }) => tenants.find(tenant)?.plan,
    timeZone: ({ tenant }) => tenants.find(tenant)?.timeZone,
  };
}
