import { definePolicies, key, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';

const aMinute = (limit: number) => ({ algorithm: 'sliding-counter', limit, window: '1m' }) as const;
const client = key.firstOf(key.user(), key.ip());

export const policies = definePolicies({
  address: { ...aMinute(600), key: key.ip() },
  login: { ...aMinute(5), key: key.join(key.ip(), key.body('username')) },
  api: { ...aMinute(100), key: client },
  route: { ...aMinute(30), key: key.join(client, key.route()) },
  contract: { ...aMinute(1_000), key: key.tenant() },
  partner: { ...aMinute(300), key: key.apiKey() },
  order: { ...aMinute(10), key: key.param('id') },
  region: { ...aMinute(5_000), key: key.header('x-region') },
  shop: { ...aMinute(10_000), key: key.global() },
  mail: { ...aMinute(3), key: (context) => context.hash(context.request['body']?.email) },
});

export const options: RateLimitModuleOptions = {
  policies,
  everyRoute: ['address', 'api'],
  identify: {
    user: ({ request }) => request['user']?.id, // what it does when left out
    tenant: ({ request }) => request['user']?.tenant,
  },
  secret: process.env['RATE_LIMIT_SECRET']!, // for key.apiKey() and context.hash()
  valkey: process.env['VALKEY_URL']!,
};
