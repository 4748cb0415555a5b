export type AdapterName = 'fastify' | 'express';

export const adapters: readonly AdapterName[] = ['fastify', 'express'];
