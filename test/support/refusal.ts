import { expect } from '@jest/globals';
import type { DynamicModule, Type } from '@nestjs/common';
import { RateLimitConfigError } from 'nestjs-valkey-rate-limit';
import { type AdapterName, startApp } from './app.js';
import { little } from './little.js';

/** Boots what cannot work, and gives the error that the boot ended with: no request was ever sent. */
export async function refusal(
  rootModule: DynamicModule | (() => DynamicModule),
  adapter: AdapterName = 'fastify',
): Promise<RateLimitConfigError> {
  let error: unknown = new Error('It booted.');
  try {
    await startApp(typeof rootModule === 'function' ? rootModule() : rootModule, adapter);
  } catch (reason) {
    error = reason;
  }
  if (!(error instanceof RateLimitConfigError)) throw error;
  expect(error.message.startsWith(`${error.where}: `)).toBe(true);
  expect(error.code).toMatch(/^[A-Z][A-Z0-9_]+$/);
  return error;
}

/** The same for the options of `forRoot`. */
export function refusalOf(limits: unknown, ...controllers: Type[]): Promise<RateLimitConfigError> {
  return refusal(() => little({ limits, controllers }));
}
