import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
  Optional,
} from '@nestjs/common';
import { type Observable, tap } from 'rxjs';
import { CALL_ENDS, type CallEnds } from './call-ends.js';

/** Sees how handlers end whose policies are settled then. `@RateLimit` binds it there, and nowhere else. */
@Injectable()
export class SettlingInterceptor implements NestInterceptor {
  /** Not there where the module is not imported, and nothing is limited. */
  constructor(@Optional() @Inject(CALL_ENDS) private readonly calls?: CallEnds) {}

  intercept(execution: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      tap({
        complete: () => this.calls?.ended(execution, { result: 'success' }),
        error: (error: unknown) => this.calls?.ended(execution, { result: 'failure', error }),
        unsubscribe: () => this.calls?.ended(execution, { result: 'abandoned' }),
      }),
    );
  }
}
