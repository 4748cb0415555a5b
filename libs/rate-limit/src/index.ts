export type { AlgorithmName, AlgorithmOptions } from './algorithms/index.js';
export type { FixedWindowOptions } from './algorithms/fixed-window/fixed-window.js';
export type { TokenBucketOptions } from './algorithms/token-bucket/token-bucket.js';
export { RateLimitConfigError } from './decision/config-error.js';
export type {
  AllowedDecision,
  Decision,
  DeniedDecision,
  FailureMode,
  StoreName,
  UnavailableDecision,
} from './decision/decision.js';
export type { Duration } from './decision/duration.js';
export type { DialectName } from './http/dialects/index.js';
export type { Problem } from './http/problem.js';
export type { Cost, Key } from './limiter/policy.js';
export { type ConsumeOptions, RateLimiter } from './limiter/rate-limiter.js';
// A star, because only what is exported by one can be merged into from outside.
export type * from './limiter/register.js';
export { type Identify, RateLimitContext, type RateLimitRequest } from './nest/context.js';
export { RateLimit, SkipRateLimit } from './nest/decorators.js';
export { key, type IpOptions, type KeyResolver } from './nest/key.js';
export {
  definePolicies,
  type InlinePolicy,
  type RateLimitModuleOptions,
  type RateLimitOptionsFactory,
  type RateLimitPolicy,
  type RateLimitUse,
} from './nest/options.js';
export { RateLimitException } from './nest/rate-limit.exception.js';
export { RateLimitGuard } from './nest/rate-limit.guard.js';
export { RateLimitModule } from './nest/rate-limit.module.js';
export { StoreUnavailableError } from './storage/store.js';
