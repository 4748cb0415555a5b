import { definePolicies, key, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';

export const policies = definePolicies({
  requests: { algorithm: 'token-bucket', limit: 100, window: '1m', key: key.tenant() },
  reports: { algorithm: 'quota', limit: 3, period: 'day', key: key.tenant() },
  api: { algorithm: 'sliding-counter', limit: 600, window: '1m', key: key.ip() },
});

export const options: RateLimitModuleOptions = {
  valkey: { cluster: process.env['VALKEY_NODES']!.split(' ') }, // valkey://10.0.0.1:6379 valkey://10.0.0.2:6379
  policies,
  identify: { tenant: ({ request }) => request['user']?.id },
};
