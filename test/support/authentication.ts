import { type CanActivate, type ExecutionContext, Injectable, UnauthorizedException } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import type { AdapterName, StartOptions } from './app.js';

type Authenticated = IncomingMessage & { user?: unknown };

interface Hooked {
  addHook(name: 'onRequest', hook: unknown): void;
}

/** Says who sends a request, to what authenticates here. */
export const as = (user: string) => ({ headers: { 'x-user': user } });

/** Authentication before any guard: the user of a request is in a header here. */
export function authenticate(adapter: AdapterName): StartOptions {
  if (adapter === 'express') return { app: (app) => app.use(hook) };
  // Middleware sees Node's request there; a hook sees Fastify's, which the guard sees too.
  return { app: (app) => (app.getHttpAdapter().getInstance() as Hooked).addHook('onRequest', hook) };
}

function hook(request: Authenticated, _: unknown, next: () => void): void {
  identify(request);
  next();
}

/** Authentication in a guard: who does not say who he is gets 401. */
@Injectable()
export class LogIn implements CanActivate {
  canActivate(execution: ExecutionContext): boolean {
    const request = execution.switchToHttp().getRequest<Authenticated>();
    identify(request);
    if (request.user === undefined) throw new UnauthorizedException();
    return true;
  }
}

function identify(request: Authenticated): void {
  const id = request.headers['x-user'];
  if (id !== undefined) request.user = { id };
}
