import type { Duration } from '../decision/duration.js';
import { OptionReader } from '../decision/option-reader.js';

/** What can be seen of the limits in operation (docs/observability.md). */
export interface TelemetryOptions {
  /** Metrics through `@opentelemetry/api`, which the application has to have. Left out: none. */
  metrics?: boolean;
  /** An event for each decision on the span that is active, likewise. Left out: none. */
  traces?: boolean;
  /** How long the decision took, in the field `Server-Timing` of responses. Left out: it is not told. */
  serverTiming?: boolean;
  /**
   * Whether events, spans and the log may tell who was counted, such as an address. Metrics never do. Left out: they may
   * not.
   */
  exposeKeys?: boolean;
  /** Keeps count of who asks for most, for `limiter.top`: so many keys of each policy, 10 to 1,000. Left out: it does not. */
  top?: number;
  /** How often the log sums up refusals: 1 s to 1 day, or `'off'`. Left out: 1 minute. */
  refusals?: Duration | 'off';
}

/** The same, checked. */
export interface Telemetry {
  readonly metrics: boolean;
  readonly traces: boolean;
  readonly serverTiming: boolean;
  readonly exposeKeys: boolean;
  /** `undefined`: nobody is kept count of. */
  readonly top: number | undefined;
  /** `undefined`: they are not summed up. */
  readonly refusalsMs: number | undefined;
}

const DAY_MS = 86_400_000;

/** @throws {RateLimitConfigError} for what cannot work */
export function readTelemetry(written: unknown = {}): Telemetry {
  const options = new OptionReader('RateLimitModule telemetry', written);
  const telemetry: Telemetry = {
    metrics: options.flag('metrics'),
    traces: options.flag('traces'),
    serverTiming: options.flag('serverTiming'),
    exposeKeys: options.flag('exposeKeys'),
    top: options.value('top') === undefined ? undefined : options.integer('top', { min: 10, max: 1_000 }),
    refusalsMs:
      options.value('refusals') === 'off'
        ? undefined
        : options.duration('refusals', { min: 1_000, max: DAY_MS }, 60_000),
  };
  options.done();
  return telemetry;
}
