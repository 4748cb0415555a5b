import {
  createRateLimiter,
  type Decision,
  key,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitPolicy,
} from 'nestjs-valkey-rate-limit';
import { serveNest } from '../application/application.js';
import { CLIENT_FIELD, type Setting, type Variant, type Variants } from './contestant.js';

type Options = Readonly<Record<string, unknown>>;

interface Difference {
  readonly store: 'memory' | 'valkey';
  /** Options beside the defaults: of the module, and of each policy. */
  readonly module?: Options;
  readonly policy?: Options;
}

/**
 * Defaults, unless the name says otherwise. A build of the library that does not know an option refuses it when it
 * starts, and the row then says so.
 */
export const variants: Variants = {
  memory: variant({ store: 'memory' }),
  valkey: variant({ store: 'valkey' }),
  'valkey-slices': variant({ store: 'valkey', policy: { slice: { share: 0.1, for: '100ms' } } }),
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
      const options = optionsOf(setting, difference);
      const everyRoute = Object.keys(options.policies ?? {});
      return serveNest({ imports: [RateLimitModule.forRoot({ ...options, everyRoute })] });
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

function optionsOf(setting: Setting, { store, module, policy }: Difference): RateLimitModuleOptions {
  const { limit, windowMs, valkey, policies = 1, algorithm = 'token-bucket', stepMs } = setting;
  const one = { algorithm, limit, window: windowMs, key: key.header(CLIENT_FIELD), ...policy };
  return {
    policies: Object.fromEntries(NAMES.slice(0, policies).map((name) => [name, one as RateLimitPolicy])),
    ...(store === 'valkey' && { valkey, ...STRICT }),
    ...(stepMs !== undefined && { clock: steppingClock(stepMs) }),
    ...module,
  };
}

function refuseUnavailable(decision: unknown): void {
  const { outcome } = decision as Decision;
  if (outcome === 'unavailable') throw new Error('Valkey did not decide in time');
}

function steppingClock(stepMs: number): () => number {
  let now = Date.now();
  return () => (now += stepMs);
}
