import {
  createRateLimiter,
  type Decision,
  key,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitPolicy,
} from 'nestjs-valkey-rate-limit';
import { serveNest } from '../application/application.js';
import { collectMetrics } from '../application/meters.js';
import { CLIENT_FIELD, type Setting, type Variant, type Variants } from './contestant.js';
import { FeaturesController, SHED } from './features.js';

type Options = Readonly<Record<string, unknown>>;

interface Difference {
  readonly store: 'memory' | 'valkey';
  /** Options beside the defaults: of the module, and of each policy. */
  readonly module?: Options;
  readonly policy?: Options;
  /** How each policy counts. Left out: as the setting says. */
  readonly counting?: (setting: Setting) => Options;
  /** Whether other handlers of the application use all that the one that is measured does not. */
  readonly beside?: true;
  /** Whether somebody collects metrics. */
  readonly metrics?: true;
}

const METRICS = { metrics: true, module: { telemetry: { metrics: true } } } as const;
const WATCHED = {
  metrics: true,
  module: { telemetry: { metrics: true, top: 200, serverTiming: true } },
} as const;
const BESIDE = { beside: true, module: { shed: SHED } } as const;

/**
 * Defaults, unless the name says otherwise. A build of the library that does not know an option refuses it when it
 * starts, and the row then says so.
 */
export const variants: Variants = {
  memory: variant({ store: 'memory' }),
  valkey: variant({ store: 'valkey' }),
  'valkey-slices': variant({ store: 'valkey', policy: { slice: { share: 0.1, for: '100ms' } } }),
  'memory-beside': variant({ store: 'memory', ...BESIDE }),
  'valkey-beside': variant({ store: 'valkey', ...BESIDE }),
  'memory-metrics': variant({ store: 'memory', ...METRICS }),
  'valkey-metrics': variant({ store: 'valkey', ...METRICS }),
  'valkey-watched': variant({ store: 'valkey', ...WATCHED }),
  'valkey-places': variant({ store: 'valkey', counting: atOnce }),
  'valkey-penalty': variant({ store: 'valkey', policy: { penalty: { after: 3, block: '15m' } } }),
  refuse: variant({ store: 'valkey' }),
  'refuse-guard': variant({ store: 'valkey', module: { refuseIn: 'guard' } }),
  'refuse-ask': variant({ store: 'valkey', module: { refuseIn: 'guard', denyCache: 'off' } }),
};

/**
 * Peers wait for as long as it takes. By default ours would not: on a busy machine with 1,000 under way it would count
 * in memory after 50 ms, and be measured doing that. So it waits here, and where Valkey does not decide nobody does.
 */
const STRICT = { deadline: '5s', onStoreFailure: 'closed' } as const;

const NAMES = ['first', 'second', 'third'];

function variant(difference: Difference): Variant {
  return {
    serve: (setting) => {
      if (difference.metrics) collectMetrics();
      const options = optionsOf(setting, difference);
      const everyRoute = Object.keys(options.policies ?? {});
      const imports = [RateLimitModule.forRoot({ ...options, everyRoute })];
      return serveNest({ imports, controllers: difference.beside ? [FeaturesController] : [] });
    },
    decide: async (setting) => {
      const limiter = await createRateLimiter(optionsOf(setting, difference));
      return {
        decide: (client) => limiter.consume(NAMES[0]!, { key: client }),
        check: refuseUnavailable,
        close: () => limiter.close(),
      };
    },
  };
}

function optionsOf(
  setting: Setting,
  { store, module, policy, counting = overTime }: Difference,
): RateLimitModuleOptions {
  const { valkey, policies = 1, stepMs } = setting;
  const one = { ...counting(setting), key: key.header(CLIENT_FIELD), ...policy };
  return {
    policies: Object.fromEntries(NAMES.slice(0, policies).map((name) => [name, one as RateLimitPolicy])),
    ...(store === 'valkey' && { valkey, ...STRICT }),
    ...(stepMs !== undefined && { clock: steppingClock(stepMs) }),
    ...module,
  };
}

function overTime({ algorithm = 'token-bucket', limit, windowMs }: Setting): Options {
  return { algorithm, limit, window: windowMs };
}

/** So many at the same time. Leases have to be longer than four times the deadline. */
function atOnce({ limit }: Setting): Options {
  return { algorithm: 'concurrency', limit, lease: '30s' };
}

function refuseUnavailable(decision: unknown): void {
  const { outcome } = decision as Decision;
  if (outcome === 'unavailable') throw new Error('Valkey did not decide in time');
}

function steppingClock(stepMs: number): () => number {
  let now = Date.now();
  return () => (now += stepMs);
}
