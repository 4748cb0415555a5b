import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { WsAdapter } from '@nestjs/platform-ws';
import { AppModule } from './app.module.js';
import { serveDocs } from './docs.js';

const store = process.env['VALKEY_URL'] ? 'Valkey' : 'memory (set VALKEY_URL to count in Valkey)';
new Logger('Api').log(`Store: ${store}`);

const app = await NestFactory.create<NestFastifyApplication>(AppModule, new FastifyAdapter());
app.enableShutdownHooks();
app.useWebSocketAdapter(new WsAdapter(app));
serveDocs(app);
await app.listen(process.env['PORT'] ?? 3000, process.env['HOST'] ?? '127.0.0.1');
new Logger('Api').log(`Listening on ${await app.getUrl()}`);
