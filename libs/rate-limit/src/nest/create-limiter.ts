import { Logger } from '@nestjs/common';
import { Engine } from '../limiter/engine.js';
import { LimitOverrides } from '../limiter/overrides.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import { MemoryOverrideTable } from '../storage/memory/memory-override-table.js';
import { MemoryStore } from '../storage/memory/memory-store.js';
import type { OverrideTable } from '../storage/override-table.js';
import type { Store } from '../storage/store.js';
import { compileOptions, type CompiledOptions } from './compile-options.js';
import type { RateLimitModuleOptions } from './options.js';

/**
 * The limits without an application: for scripts, workers and tests. `everyRoute` and what else concerns HTTP has no
 * effect. Close it when it is no longer needed.
 *
 * @throws {RateLimitConfigError} (rejects) for options that cannot work
 *
 * @example
 * const limiter = await createRateLimiter({ policies: { sms: { algorithm: 'leaky-bucket', limit: 10, window: '1s' } } });
 * const decision = await limiter.consume('sms', { key: 'provider' });
 * await limiter.close();
 */
export async function createRateLimiter(options: RateLimitModuleOptions): Promise<RateLimiter> {
  const compiled = compileOptions(options);
  const engine = await createEngine(compiled);
  await engine.open();
  return new RateLimiter(engine, compiled.policies);
}

/** Not connected yet: what else can be wrong with an application is found first. */
export async function createEngine(compiled: CompiledOptions): Promise<Engine> {
  const { prefix, instances, clock, policies, denyCacheMs } = compiled;
  const log = new Logger('RateLimit');
  const { store, overrides: table } = await createStorage(compiled, (line) => log.warn(line));
  const overrides = new LimitOverrides(table, policies, clock);
  return new Engine({
    store,
    overrides,
    prefix,
    instances,
    log,
    ...(denyCacheMs !== undefined && { denyCacheMs }),
    ...(clock && { clock }),
  });
}

/** The client is loaded only by those who use it. */
async function createStorage(
  { valkey, deadlineMs, prefix, clock }: CompiledOptions,
  warn: (line: string) => void,
): Promise<{ store: Store; overrides: OverrideTable }> {
  if (valkey === undefined) return { store: new MemoryStore(clock), overrides: new MemoryOverrideTable() };
  const { createValkey } = await import('../storage/valkey/index.js');
  return createValkey(valkey, { deadlineMs, prefix, warn, ...(clock && { clock }) });
}
