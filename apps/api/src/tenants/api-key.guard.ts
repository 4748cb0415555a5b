import { type CanActivate, type ExecutionContext, Injectable, UnauthorizedException } from '@nestjs/common';
import { Tenants } from './tenants.js';
import { API_KEY_FIELD, type TenantRequest } from './tenant-request.js';

/**
 * Lets only tenants pass. It runs after the limiter's guard, as all guards of controllers do: who tries keys has been
 * counted by then, and is refused with 429 in the end.
 */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(private readonly tenants: Tenants) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<TenantRequest>();
    const tenant = this.tenants.findByApiKey(request.headers[API_KEY_FIELD]);
    if (tenant === undefined)
      throw new UnauthorizedException(`Send your API key in the field "${API_KEY_FIELD}".`);
    request.tenant = tenant;
    return true;
  }
}
