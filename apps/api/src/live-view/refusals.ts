import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Subject } from 'rxjs';

/** A request that was refused. */
export interface Refusal {
  /** As it is written in the code, so that clients cannot make new ones. */
  readonly route: string;
  readonly status: number;
}

interface Fastify {
  addHook(
    name: 'onResponse',
    hook: (
      request: { readonly method: string; readonly routeOptions: { readonly url?: string } },
      reply: { readonly statusCode: number },
      done: () => void,
    ) => void,
  ): void;
}

const STATUSES = new Set([429, 503]);

/**
 * Tells of each refusal, also of those that are made before Nest has anything to do with a request. A hook of Fastify, on
 * which this API runs; on another server it tells of none.
 */
@Injectable()
export class Refusals implements OnModuleInit {
  readonly refused$ = new Subject<Refusal>();

  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    const { httpAdapter } = this.host;
    if (httpAdapter.getType() !== 'fastify') return;
    httpAdapter
      .getInstance<Fastify>()
      .addHook('onResponse', ({ method, routeOptions: { url } }, { statusCode: status }, done) => {
        if (this.refused$.observed && url !== undefined && STATUSES.has(status)) {
          this.refused$.next({ route: `${method} ${url}`, status });
        }
        done();
      });
  }
}
