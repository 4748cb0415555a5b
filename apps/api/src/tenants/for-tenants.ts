import { applyDecorators, createParamDecorator, type ExecutionContext, UseGuards } from '@nestjs/common';
import { ApiSecurity, ApiUnauthorizedResponse } from '@nestjs/swagger';
import { ApiKeyGuard } from './api-key.guard.js';
import type { TenantRequest } from './tenant-request.js';

/** What the OpenAPI document calls the API key. */
export const API_KEY = 'API key';

/** For controllers whose routes need a tenant's API key. */
export function ForTenants(): ClassDecorator {
  return applyDecorators(
    UseGuards(ApiKeyGuard),
    ApiSecurity(API_KEY),
    ApiUnauthorizedResponse({ description: 'No tenant has this API key.' }),
  );
}

/** The tenant of the request. Only behind {@link ForTenants}. */
export const CurrentTenant = createParamDecorator((_: unknown, context: ExecutionContext) => {
  return context.switchToHttp().getRequest<TenantRequest>().tenant;
});
