export type { AlgorithmName, AlgorithmOptions } from './algorithms/index.js';
export type {
  AdaptiveConcurrencyOptions,
  ConcurrencyOptions,
  FixedConcurrencyOptions,
} from './algorithms/concurrency/concurrency.js';
export type { FixedWindowOptions } from './algorithms/fixed-window/fixed-window.js';
export type { LeakyBucketOptions } from './algorithms/leaky-bucket/leaky-bucket.js';
export type { QuotaOptions } from './algorithms/quota/quota.js';
export type { SlidingCounterOptions } from './algorithms/sliding-counter/sliding-counter.js';
export type { SlidingLogOptions } from './algorithms/sliding-log/sliding-log.js';
export type { TokenBucketOptions } from './algorithms/token-bucket/token-bucket.js';
export type { Clock } from './decision/clock.js';
export { RateLimitConfigError } from './decision/config-error.js';
export type { DecisionEvent } from './limiter/decision-event.js';
export type { TopKey, TopKeys } from './limiter/top/top-keys.js';
export type { TelemetryOptions } from './telemetry/telemetry-options.js';
export type {
  AllowedDecision,
  Decision,
  DeniedDecision,
  FailureMode,
  ForbiddenDecision,
  ShedDecision,
  StoreName,
  UnavailableDecision,
  UnidentifiedDecision,
  UnlimitedDecision,
  Verdict,
} from './decision/decision.js';
export type { Duration } from './decision/duration.js';
export type { DialectName } from './http/dialects/index.js';
export type { Problem } from './http/problem.js';
export type { PenaltyOptions } from './algorithms/penalty/penalty.js';
export type { Cost, Key, PolicyMode, SliceOptions } from './limiter/policy.js';
export type { LimitNumbers } from './limiter/limit.js';
export { type KnownOverride, LimitOverrides, type Override } from './limiter/overrides.js';
export {
  type ConsumeOptions,
  type LeaseOptions,
  RateLimiter,
  type RefundOptions,
  type ScheduleOptions,
} from './limiter/rate-limiter.js';
export { ScheduleError, type ScheduleFailure } from './limiter/schedule.js';
export type { LimitDescription, PolicyDescription, RouteDescription } from './limiter/route-description.js';
// A star, because only what is exported by one can be merged into from outside.
export type * from './limiter/register.js';
export { RateLimitContext, type RateLimitRequest } from './nest/context.js';
export { createRateLimiter } from './nest/create-limiter.js';
export { RateLimit, SkipRateLimit } from './nest/decorators.js';
export type { Identify } from './nest/identity.js';
export { key } from './nest/key.js';
export type { ApiKeyOptions } from './nest/keys/of-client.js';
export type { IpOptions } from './nest/keys/of-request.js';
export type { KeyNeed, KeyResolver } from './nest/keys/resolver.js';
export {
  type Authentication,
  byPlan,
  definePolicies,
  type IdentityFailureMode,
  type InlinePolicy,
  type ModuleExtras,
  type PlannedPolicy,
  type PlanSettings,
  type RateLimitModuleOptions,
  type RateLimitOptionsFactory,
  type RateLimitPolicy,
  type RateLimitUse,
} from './nest/options.js';
export { RateLimitException } from './nest/rate-limit.exception.js';
export { RateLimitGuard } from './nest/rate-limit.guard.js';
export { RateLimitHealth, type RateLimitHealthResult } from './nest/rate-limit.health.js';
export { Priority, type PriorityName } from './nest/priority.js';
export { RateLimitModule } from './nest/rate-limit.module.js';
export type { Outcome, Settle } from './nest/settle.js';
export type { FleetOptions, ShedOptions, WorkerOptions } from './nest/shed-options.js';
export { when } from './nest/when.js';
export type { Predicate, PredicateTraits } from './nest/when/predicate.js';
export { StoreUnavailableError } from './storage/store.js';
export type { ValkeyClient } from './storage/valkey/connection.js';
export type {
  TlsOptions,
  ValkeyCluster,
  ValkeySentinel,
  ValkeyServer,
  ValkeyTarget,
} from './storage/valkey/target.js';
