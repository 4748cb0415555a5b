import { definePolicies } from 'nestjs-valkey-rate-limit';

export const policies = definePolicies({
  // The provider allows ten a second. A little less leaves room for what does not arrive as evenly as it is sent.
  'sms-provider': {
    algorithm: 'leaky-bucket',
    limit: 10,
    window: '1200ms',
    burst: 50,
    onStoreFailure: 'closed',
  },
});
