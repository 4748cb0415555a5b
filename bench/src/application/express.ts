import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Served } from '../contestants/contestant.js';
import { HOST, shopModule } from './application.js';

/** The same application on Express, for what is made for Express. */
export async function serveExpress(
  prepare?: (app: NestExpressApplication) => Promise<void> | void,
): Promise<Served> {
  const app = await NestFactory.create<NestExpressApplication>(shopModule({}), {
    logger: false,
    abortOnError: false,
  });
  await prepare?.(app);
  await app.listen(0, HOST);
  return { port: Number(new URL(await app.getUrl()).port), close: () => app.close() };
}
