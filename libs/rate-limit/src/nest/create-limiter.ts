import { Logger } from '@nestjs/common';
import { Engine } from '../limiter/engine.js';
import { LimitOverrides } from '../limiter/overrides.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import { MemoryOverrideTable } from '../storage/memory/memory-override-table.js';
import { MemoryStore } from '../storage/memory/memory-store.js';
import type { OverrideTable } from '../storage/override-table.js';
import type { SketchTable } from '../storage/sketch-table.js';
import type { Store } from '../storage/store.js';
import { Watchers } from '../telemetry/watchers.js';
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
  const watchers = await watch(engine, compiled, () => 0);
  await engine.open();
  return new RateLimiter(engine, compiled.policies, watchers);
}

/** @param shedLevel how much this process sheds, from 0 to 2 */
export function watch(
  engine: Engine,
  { telemetry, policies }: CompiledOptions,
  shedLevel: () => number,
): Promise<Watchers> {
  const log = new Logger('RateLimit');
  return Watchers.begin(engine, {
    ...telemetry,
    policies: policies.values(),
    log: (line) => log.log(line),
    shedLevel,
  });
}

/** Not connected yet: what else can be wrong with an application is found first. */
export async function createEngine(compiled: CompiledOptions): Promise<Engine> {
  const { prefix, instances, clock, policies, denyCacheMs, telemetry } = compiled;
  const log = new Logger('RateLimit');
  const { store, overrides: table, sketches } = await createStorage(compiled, (line) => log.warn(line));
  const overrides = new LimitOverrides(table, policies, clock);
  return new Engine({
    store,
    overrides,
    prefix,
    instances,
    log,
    sketches,
    exposesKeys: telemetry.exposeKeys,
    ...(denyCacheMs !== undefined && { denyCacheMs }),
    ...(clock && { clock }),
  });
}

/** The client is loaded only by those who use it. */
async function createStorage(
  { valkey, deadlineMs, prefix, clock }: CompiledOptions,
  warn: (line: string) => void,
): Promise<{ store: Store; overrides: OverrideTable; sketches?: SketchTable }> {
  if (valkey === undefined) return { store: new MemoryStore(clock), overrides: new MemoryOverrideTable() };
  const { createValkey } = await import('../storage/valkey/index.js');
  return createValkey(valkey, { deadlineMs, prefix, warn, ...(clock && { clock }) });
}
