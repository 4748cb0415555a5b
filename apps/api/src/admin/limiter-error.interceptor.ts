import {
  BadRequestException,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  ServiceUnavailableException,
} from '@nestjs/common';
import { RateLimitConfigError, StoreUnavailableError } from 'nestjs-valkey-rate-limit';
import { catchError, type Observable } from 'rxjs';

/** Numbers that a policy cannot have are the caller's mistake here, and the limiter's message says which. */
@Injectable()
export class LimiterErrorInterceptor implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      catchError((error: unknown) => {
        if (error instanceof RateLimitConfigError) throw new BadRequestException(error.message);
        if (error instanceof StoreUnavailableError) {
          throw new ServiceUnavailableException('The store of the limits does not answer. Try again.');
        }
        throw error;
      }),
    );
  }
}
