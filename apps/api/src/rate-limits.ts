import { definePolicies, key } from 'nestjs-valkey-rate-limit';

/** Every limit of this API. */
export const policies = definePolicies({
  /** A burst of five, then one more every two seconds. */
  api: { algorithm: 'token-bucket', limit: 5, window: '10s', key: key.ip() },
  /** Guessing passwords: without knowing how often somebody has tried, nobody may try. */
  login: {
    algorithm: 'sliding-log',
    limit: 5,
    window: '1m',
    key: key.join(key.ip(), key.body('username')),
    onStoreFailure: 'closed',
  },
});

declare module 'nestjs-valkey-rate-limit' {
  interface Register {
    policies: typeof policies;
  }
}
