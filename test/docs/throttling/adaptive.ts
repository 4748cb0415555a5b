import { definePolicies, key } from 'nestjs-valkey-rate-limit';

export const adaptive = definePolicies({
  search: {
    algorithm: 'concurrency',
    limit: 'adaptive',
    floor: 5,
    ceiling: 200,
    lease: '30s',
    key: key.global(),
  },
});
