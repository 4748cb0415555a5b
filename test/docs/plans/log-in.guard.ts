import { type CanActivate, type ExecutionContext, Injectable, UnauthorizedException } from '@nestjs/common';

/** What stands for the authentication of the examples: it believes what it is told. */
@Injectable()
export class LogIn implements CanActivate {
  canActivate(execution: ExecutionContext): boolean {
    const request = execution
      .switchToHttp()
      .getRequest<{ headers: Record<string, string>; user?: unknown }>();
    const [id, tenant] = (request.headers['authorization'] ?? '').split('@');
    if (tenant === undefined) throw new UnauthorizedException();
    request.user = { id, tenant };
    return true;
  }
}
