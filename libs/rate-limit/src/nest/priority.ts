import { RateLimitConfigError, show } from '../decision/config-error.js';
import { SetMetadata } from '@nestjs/common';

/** Who is let in first when there is not enough for all. */
export type PriorityName = 'critical' | 'normal' | 'background';

export const PRIORITIES: readonly PriorityName[] = ['critical', 'normal', 'background'];

const PRIORITY = Symbol('nestjs-valkey-rate-limit:priority');

/**
 * How important a handler is, or those of a class, while the module's `shed` refuses some: what is not said is `'normal'`.
 *
 * @throws {RateLimitConfigError} at once for another word
 *
 * @example
 * ```ts
 * @Priority('critical')
 * ```
 */
export function Priority(priority: PriorityName): ClassDecorator & MethodDecorator {
  if (PRIORITIES.includes(priority)) return SetMetadata(PRIORITY, priority);
  throw new RateLimitConfigError(
    'INVALID_PRIORITY',
    '@Priority',
    `it must be 'critical', 'normal' or 'background', not ${show(priority)}.`,
  );
}

/** What is said of the handler, or else of its class. */
export function readPriority(handler: object, owner: object): PriorityName {
  const said: unknown = Reflect.getMetadata(PRIORITY, handler) ?? Reflect.getMetadata(PRIORITY, owner);
  return (said as PriorityName | undefined) ?? 'normal';
}
