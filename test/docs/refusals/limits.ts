import { definePolicies, key, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';

export const policies = definePolicies({
  search: { algorithm: 'token-bucket', limit: 60, window: '1m', key: key.ip() },
  account: { algorithm: 'sliding-log', limit: 5, window: '1m', key: key.body('username') },
});

export const options: RateLimitModuleOptions = {
  policies,
  denyCache: '500ms', // refused here at most this long without asking Valkey; 'off' asks each time
  refuseIn: 'hook', // before Nest where that makes no difference; 'guard' never does
};
