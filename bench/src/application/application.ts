import { randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { Controller, Get, HttpCode, type ModuleMetadata, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Served } from '../contestants/contestant.js';

export const HOST = '127.0.0.1';

const hash = promisify<string, Buffer, number, Buffer>(scrypt);
const SALT = randomBytes(16);

export function product() {
  return { id: 7, name: 'cup', price: 12.5 };
}

/** The same for every limiter: as little as a handler can do, and one that is dear. */
@Controller()
class ShopController {
  @Get()
  product() {
    return product();
  }

  /** About 50 ms of a core on the thread pool, as passwords ask for. */
  @Post('login')
  @HttpCode(200)
  async login() {
    await hash('correct horse battery staple', SALT, 64);
    return { ok: true };
  }
}

/** What a limiter adds to the application. */
export interface Parts {
  readonly imports?: ModuleMetadata['imports'];
  readonly providers?: ModuleMetadata['providers'];
  /** Beside the one that is the same for all. */
  readonly controllers?: ModuleMetadata['controllers'];
  /** What has to be registered before the routes are. */
  readonly prepare?: (app: NestFastifyApplication) => Promise<void>;
}

export function shopModule({ imports = [], providers = [], controllers = [] }: Parts) {
  class ShopModule {}
  Module({ imports, providers, controllers: [ShopController, ...controllers] })(ShopModule);
  return ShopModule;
}

export async function serveNest(parts: Parts): Promise<Served> {
  const app = await NestFactory.create<NestFastifyApplication>(shopModule(parts), new FastifyAdapter(), {
    logger: false,
    abortOnError: false,
  });
  await parts.prepare?.(app);
  await app.listen(0, HOST);
  return { port: Number(new URL(await app.getUrl()).port), close: () => app.close() };
}
