import { fastify } from 'fastify';
import { Redis } from 'iovalkey';
import { HOST, product, serveNest } from '../application/application.js';
import type { Decider, Served, Setting, Variants } from './contestant.js';

/** Nobody limits anything: what the others are compared with. */
export const variants: Variants = {
  nest: { serve: () => serveNest({}) },
  bare: { serve: serveBare },
  express: { serve: async () => (await import('../application/express.js')).serveExpress() },
  get: { decide: readOnly },
};

async function serveBare(): Promise<Served> {
  const app = fastify();
  app.get('/', () => product());
  await app.listen({ port: 0, host: HOST });
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('Fastify does not listen on a port');
  return { port: address.port, close: () => app.close() };
}

/** No decision in fact, but the least that asking the server can cost. */
async function readOnly({ valkey }: Setting): Promise<Decider> {
  const client = new Redis(valkey);
  return {
    decide: (key) => client.get(key),
    close: async () => client.disconnect(),
  };
}
