import { byPlan, definePolicies, key } from 'nestjs-valkey-rate-limit';

export const policies = definePolicies({
  address: { algorithm: 'sliding-counter', limit: 600, window: '1m', key: key.ip() },
  api: byPlan(
    {
      free: { algorithm: 'token-bucket', limit: 60, window: '1m' },
      pro: { algorithm: 'token-bucket', limit: 600, window: '1m', burst: 50 },
      staff: 'unlimited',
    },
    { default: 'free' },
  ),
});
