import { type CanActivate, type ExecutionContext, HttpException, type Provider } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CLIENT_FIELD, type Setting } from '../contestants/contestant.js';

/** What one asks for to answer a request. */
export interface Verdict {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Until more is allowed. */
  readonly waitMs: number;
}

/**
 * The guard that one writes around a counter: who is it, may they, three header fields, 429. For the hand-written
 * limiters and for those that bring no guard.
 */
export function guardAround(
  take: (client: string) => Verdict | Promise<Verdict>,
  { limit }: Setting,
): Provider {
  const guard: CanActivate = {
    async canActivate(context: ExecutionContext) {
      const http = context.switchToHttp();
      const client = http.getRequest<FastifyRequest>().headers[CLIENT_FIELD] as string;
      const reply = http.getResponse<FastifyReply>();
      const { allowed, remaining, waitMs } = await take(client);
      const seconds = Math.ceil(waitMs / 1_000);
      reply.header('x-ratelimit-limit', limit);
      reply.header('x-ratelimit-remaining', remaining);
      reply.header('x-ratelimit-reset', seconds);
      if (allowed) return true;
      reply.header('retry-after', seconds);
      throw new HttpException('Too many requests', 429);
    },
  };
  return { provide: APP_GUARD, useValue: guard };
}
