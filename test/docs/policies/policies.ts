import { definePolicies, key, when } from 'nestjs-valkey-rate-limit';

export const policies = definePolicies({
  login: {
    algorithm: 'sliding-log',
    limit: 5,
    window: '1m',
    key: key.join(key.ip(), key.body('username')),
    penalty: { after: 3, block: '15m', growth: 2, max: '24h' },
  },
  api: {
    algorithm: 'token-bucket',
    limit: 100,
    window: '1m',
    key: key.ip(),
    skip: when.network('192.0.2.0/24', '2001:db8::/32'), // the office
    deny: when.network('203.0.113.0/24'),
  },
  'api-soon': { algorithm: 'token-bucket', limit: 10, window: '1m', key: key.ip(), mode: 'shadow' },
});
