import { type CanActivate, type ExecutionContext, Injectable, UnauthorizedException } from '@nestjs/common';
import { type GqlContextType, GqlExecutionContext } from '@nestjs/graphql';
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
    const request = requestOf(context);
    const tenant = this.tenants.findByApiKey(request.headers[API_KEY_FIELD]);
    if (tenant === undefined)
      throw new UnauthorizedException(`Send your API key in the field "${API_KEY_FIELD}".`);
    request.tenant = tenant;
    return true;
  }
}

/** Resolvers have it in the context of their operation. */
function requestOf(context: ExecutionContext): TenantRequest {
  if (context.getType<GqlContextType>() !== 'graphql') return context.switchToHttp().getRequest();
  return GqlExecutionContext.create(context).getContext<{ req: TenantRequest }>().req;
}
