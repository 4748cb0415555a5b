import { Inject, Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Engine } from '../limiter/engine.js';
import { describeRoutes, reportRoutes } from './describe-routes.js';
import { RouteTable } from './route-table.js';

/**
 * What has to be done before the first call, once: when the application boots, or for a call that comes before. In a
 * hybrid application microservices listen before the modules are initialised, and would pass everybody until then.
 */
@Injectable()
export class Opening {
  #opened: Promise<void> | undefined;
  #isOver = false;

  constructor(
    @Inject(RouteTable) private readonly routes: RouteTable,
    @Inject(Engine) private readonly engine: Engine,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {}

  /**
   * `undefined` when it is over.
   *
   * @throws {RateLimitConfigError} (rejects) for the first decorator that cannot work
   */
  open(): Promise<void> | undefined {
    return this.#isOver ? undefined : (this.#opened ??= this.#open());
  }

  /** Everything that is wrong is found before the first connection is opened. */
  async #open(): Promise<void> {
    this.routes.build();
    const log = new Logger('RateLimit');
    log.log(`Counting in ${this.engine.place}.`);
    for (const line of reportRoutes(describeRoutes(this.routes))) log.debug(line);
    await Promise.all(this.routes.contexts().map((context) => context.load?.()));
    await this.engine.open();
    this.#isOver = true;
  }

  /** When all routes of the HTTP server are there. */
  prepareServer(): void {
    for (const context of this.routes.contexts()) context.prepare?.(this.host.httpAdapter);
  }
}
