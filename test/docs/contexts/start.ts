import { NestFactory } from '@nestjs/core';
import { Transport } from '@nestjs/microservices';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { WsAdapter } from '@nestjs/platform-ws';
import { AppModule } from './app.module.js';

export async function start(port = 3000, servicePort = 3001): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(AppModule, new FastifyAdapter());
  app.useWebSocketAdapter(new WsAdapter(app));
  app.connectMicroservice({ transport: Transport.TCP, options: { port: servicePort } });
  await app.startAllMicroservices();
  await app.listen(port);
  return app;
}
