import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';

/** What stands for the authentication of operators in the examples: it believes what it is told. */
@Injectable()
export class AdminGuard implements CanActivate {
  canActivate(execution: ExecutionContext): boolean {
    return execution.switchToHttp().getRequest<{ headers: object }>().headers['x-admin' as never] === 'yes';
  }
}
