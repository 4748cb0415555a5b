import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';

const adapter = new FastifyAdapter({ trustProxy: ['10.0.0.7', '10.0.0.8'] });
const app = await NestFactory.create<NestFastifyApplication>(AppModule, adapter);
await app.listen(3000);
