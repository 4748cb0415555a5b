import { all, any, not } from './when/combine.js';
import { network } from './when/network.js';
import { key } from './when/of-key.js';

/**
 * Which requests a list of a policy means.
 *
 * @example
 * skip: when.any(when.network('10.0.0.0/8'), ({ request }) => request.user?.isStaff)
 * deny: when.key(key.tenant(), ['evil'])
 */
export const when = { network, key, any, all, not } as const;
