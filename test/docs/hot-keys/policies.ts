import { definePolicies, key } from 'nestjs-valkey-rate-limit';

export const policies = definePolicies({
  // One key for everybody: the whole service may do so much in a second.
  everybody: {
    algorithm: 'fixed-window',
    limit: 20_000,
    window: '1s',
    key: () => 'everybody',
    slice: { share: 0.1, for: '100ms' },
  },
  address: { algorithm: 'sliding-counter', limit: 600, window: '1m', key: key.ip() },
});
