import type { Variant, Variants } from './contestant.js';

/** Loaded by name, so that a process holds nothing but what it measures. */
const MODULES: Readonly<Record<string, () => Promise<{ readonly variants: Variants }>>> = {
  none: () => import('./none.js'),
  ours: () => import('./ours.js'),
  hand: () => import('./hand-written.js'),
  throttler: () => import('./throttler.js'),
  fastify: () => import('./fastify-rate-limit.js'),
  flexible: () => import('./rate-limiter-flexible.js'),
  express: () => import('./express-rate-limit.js'),
};

/** Every variant, as tables call it. */
export const LABELS = {
  'none/nest': 'no limiter',
  'none/bare': 'bare Fastify, no Nest',
  'none/express': 'no limiter, Nest on Express',
  'none/get': 'GET of a key (floor)',
  'ours/memory': '**this library**, memory',
  'ours/valkey': '**this library**, Valkey',
  'ours/valkey-slices': '**this library**, Valkey, with slices',
  'ours/memory-beside': '**this library**, memory, all of it beside',
  'ours/valkey-beside': '**this library**, Valkey, all of it beside',
  'ours/memory-metrics': '**this library**, memory, with metrics',
  'ours/valkey-metrics': '**this library**, Valkey, with metrics',
  'ours/valkey-watched': '**this library**, Valkey, with metrics, top and Server-Timing',
  'ours/valkey-places': '**this library**, Valkey, places instead',
  'ours/valkey-penalty': '**this library**, Valkey, with a penalty',
  'ours/refuse': '**this library**, refused before Nest',
  'ours/refuse-guard': '**this library**, refused by the guard, deny cache',
  'ours/refuse-ask': '**this library**, refused by the guard, asking Valkey each time',
  'hand/memory': 'hand-written guard, a map',
  'hand/valkey': 'hand-written guard, one EVALSHA',
  'throttler/memory': '@nestjs/throttler, memory',
  'throttler/redis': '@nestjs/throttler, Redis store',
  'fastify/memory': '@fastify/rate-limit, memory',
  'fastify/redis': '@fastify/rate-limit, Redis',
  'flexible/memory': 'rate-limiter-flexible, memory',
  'flexible/valkey': 'rate-limiter-flexible, Valkey',
  'flexible/valkey-block': 'rate-limiter-flexible, Valkey and block cache',
  'express/redis': 'express-rate-limit and Redis, Nest on Express',
} as const;

export type VariantId = keyof typeof LABELS;

export async function loadVariant(id: VariantId): Promise<Variant> {
  const [contestant = '', name = ''] = id.split('/');
  const variant = (await MODULES[contestant]?.())?.variants[name];
  if (!variant) throw new Error(`There is no contestant ${id}`);
  return variant;
}
