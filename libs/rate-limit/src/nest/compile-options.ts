import type { Clock } from '../decision/clock.js';
import { RateLimitConfigError, show } from '../decision/config-error.js';
import type { FailureMode } from '../decision/decision.js';
import { OptionReader } from '../decision/option-reader.js';
import { type DialectName, dialects } from '../http/dialects/index.js';
import type { HeaderDialect } from '../http/header-dialect.js';
import { FAILURE_MODES, type Policy, compilePolicy } from '../limiter/policy.js';
import { unknownPolicy } from '../limiter/checks.js';
import { readTelemetry, type Telemetry } from '../telemetry/telemetry-options.js';
import type { ContextOptions, RateLimitContext } from './context.js';
import { readIdentity } from './identity.js';
import { readSecret } from './keyed-hash.js';
import { readShedding, SHED_NAMES, type Shedding } from './shed-options.js';
import type { IdentityFailureMode, RateLimitModuleOptions } from './options.js';

/** The module's options, checked, with everything worked out that can be. */
export interface CompiledOptions extends ContextOptions {
  readonly valkey: unknown;
  readonly policies: ReadonlyMap<string, Policy<RateLimitContext>>;
  readonly everyRoute: readonly string[];
  readonly onIdentityFailure: IdentityFailureMode;
  readonly onStoreFailure: FailureMode;
  readonly instances: () => number;
  readonly deadlineMs: number;
  /** `undefined`: nobody is refused without asking. */
  readonly denyCacheMs: number | undefined;
  readonly refuseIn: 'hook' | 'guard';
  readonly prefix: string;
  readonly dialect: HeaderDialect | undefined;
  readonly clock: Clock | undefined;
  readonly problem: RateLimitModuleOptions['problem'];
  readonly shedding: Shedding | undefined;
  readonly telemetry: Telemetry;
}

/** Under which the compiled options are provided. */
export const COMPILED_OPTIONS = Symbol('nestjs-valkey-rate-limit:compiled-options');

const WHERE = 'RateLimitModule';
const IDENTITY_FAILURE_MODES: readonly IdentityFailureMode[] = ['default-plan', 'closed'];
const MOST_INSTANCES = 10_000;
const PREFIX = /^[A-Za-z0-9._:-]{1,32}$/;

/** @throws {RateLimitConfigError} for the first option that cannot work */
export function compileOptions(written: unknown): CompiledOptions {
  if (written === undefined) {
    throw new RateLimitConfigError(
      'NO_OPTIONS',
      WHERE,
      'it was imported without options. Import RateLimitModule.forRoot(…) once, in the root module: RateLimiter and the ' +
        'guard are there for every module.',
    );
  }
  const options = new OptionReader(WHERE, written);
  const onStoreFailure = options.oneOf('onStoreFailure', FAILURE_MODES, 'local');
  const policies = readPolicies(options.value('policies') ?? {}, onStoreFailure);
  const headers = options.oneOf(
    'headers',
    [...(Object.keys(dialects) as DialectName[]), 'none' as const],
    'draft-11',
  );
  const compiled: CompiledOptions = {
    valkey: options.value('valkey'),
    policies,
    everyRoute: readEveryRoute(options.value('everyRoute') ?? [], policies),
    identity: readIdentity(options.value('identify') ?? {}),
    onIdentityFailure: options.oneOf('onIdentityFailure', IDENTITY_FAILURE_MODES, 'default-plan'),
    hash: readSecret(options),
    onStoreFailure,
    instances: readInstances(options),
    deadlineMs: options.duration('deadline', { min: 1, max: 10_000 }, 50),
    denyCacheMs: readDenyCache(options),
    refuseIn: options.oneOf('refuseIn', ['hook', 'guard'], 'hook'),
    prefix: readPrefix(options),
    dialect: headers === 'none' ? undefined : dialects[headers],
    clock: readClock(options),
    problem: options.optionalFunction('problem', 'a function that makes the body'),
    shedding: readShedding(options.value('shed')),
    telemetry: readTelemetry(options.value('telemetry')),
  };
  options.done();
  return compiled;
}

function readPolicies(written: unknown, onStoreFailure: FailureMode): Map<string, Policy<RateLimitContext>> {
  if (!isPlainObject(written)) {
    throw new RateLimitConfigError(
      'INVALID_POLICIES',
      WHERE,
      `policies must be an object of policies by name, not ${show(written)}.`,
    );
  }
  const own = Object.keys(written).find((name) => name.startsWith(SHED_NAMES));
  if (own !== undefined) {
    throw new RateLimitConfigError(
      'INVALID_NAME',
      WHERE,
      `names of policies that begin with "${SHED_NAMES}" are those of the option shed. Call ${show(own)} otherwise.`,
    );
  }
  return new Map(
    Object.entries(written).map(([name, policy]) => [
      name,
      compilePolicy<RateLimitContext>(name, `policy ${JSON.stringify(name)}`, policy, onStoreFailure),
    ]),
  );
}

function readEveryRoute(written: unknown, policies: ReadonlyMap<string, unknown>): string[] {
  if (!Array.isArray(written)) {
    throw new RateLimitConfigError(
      'INVALID_EVERY_ROUTE',
      WHERE,
      `everyRoute must be a list of policy names, not ${show(written)}.`,
    );
  }
  const names = written as string[];
  const wrong = names.findIndex((name, index) => !policies.has(name) || names.indexOf(name) !== index);
  if (wrong === -1) return names;
  const name = names[wrong];
  if (!policies.has(name as string)) throw unknownPolicy(`${WHERE} everyRoute`, name, policies.keys());
  throw new RateLimitConfigError(
    'REPEATED_POLICY',
    WHERE,
    `everyRoute names ${show(name)} twice. Once is enough.`,
  );
}

/** Not a Map, a class or a list, whose entries would not be seen. */
function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function readInstances(options: OptionReader): () => number {
  const instances = options.value('instances');
  if (typeof instances !== 'function') {
    const fixed = options.integer('instances', { min: 1, max: MOST_INSTANCES }, 1);
    return () => fixed;
  }
  // Asked in the middle of an outage: whatever it says, there must be a limit.
  return () => {
    const said: unknown = instances();
    return typeof said === 'number' && said >= 1 ? Math.min(Math.round(said), MOST_INSTANCES) : 1;
  };
}

function readDenyCache(options: OptionReader): number | undefined {
  if (options.value('denyCache') === 'off') return undefined;
  return options.duration('denyCache', { min: 1, max: 60_000 }, 1_000);
}

function readClock(options: OptionReader): Clock | undefined {
  const wanted = 'a function that gives whole milliseconds since 1970';
  const clock = options.optionalFunction<Clock>('clock', wanted);
  const now: unknown = clock?.();
  if (clock === undefined || (Number.isSafeInteger(now) && (now as number) >= 0)) return clock;
  throw options.refuse('clock', wanted, now);
}

function readPrefix(options: OptionReader): string {
  const prefix = options.value('prefix') ?? 'rl:';
  if (typeof prefix === 'string' && PREFIX.test(prefix)) return prefix;
  throw options.refuse('prefix', "1 to 32 letters, digits, '.', '_', ':' or '-', such as 'shop:rl:'", prefix);
}
