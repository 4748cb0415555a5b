import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type { Observable } from 'rxjs';
import { RequestLimiter } from './request-limiter.js';

/**
 * With `authentication: 'guards'`: decides what has to wait for the user. Interceptors run when all guards have.
 */
@Injectable()
export class RateLimitInterceptor implements NestInterceptor {
  constructor(@Inject(RequestLimiter) private readonly limiter: RequestLimiter) {}

  async intercept(execution: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    await this.limiter.finish(execution);
    return next.handle();
  }
}
