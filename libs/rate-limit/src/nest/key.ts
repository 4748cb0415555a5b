import { firstOf, join } from './keys/combine.js';
import { apiKey, tenant, user } from './keys/of-client.js';
import { body, global, header, ip, param, route } from './keys/of-request.js';

/**
 * The key resolvers: whom a policy counts.
 *
 * @example
 * key.join(key.ip(), key.body('username'))
 */
export const key = {
  ip,
  user,
  tenant,
  apiKey,
  header,
  body,
  param,
  route,
  global,
  join,
  firstOf,
} as const;
