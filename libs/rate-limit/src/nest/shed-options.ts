import type { Duration } from '../decision/duration.js';
import { OptionReader } from '../decision/option-reader.js';
import { compilePolicy, type Policy } from '../limiter/policy.js';
import type { SaturationLimits } from '../limiter/saturation.js';
import type { RateLimitContext } from './context.js';
import { key } from './key.js';
import { PRIORITIES, type PriorityName } from './priority.js';

/** What is refused first when there is not enough for all: with 503, and `Retry-After`. */
export interface ShedOptions {
  /** How important a request is, where that is not said by `@Priority` alone. `undefined`: as that says. */
  priority?: (context: RateLimitContext) => PriorityName | undefined;
  /** All instances together: so many HTTP requests at once, a share of which is kept for critical ones. */
  fleet?: FleetOptions;
  /** This process: background requests are refused while it is saturated, then normal ones. */
  worker?: WorkerOptions;
}

export interface FleetOptions {
  /** How many at once: 1 to 10,000. */
  limit: number;
  /** Which share of them only critical requests may have: 0 to 0.9. Left out: 0.2. */
  reserve?: number;
  /** How long a place is held by a process that is gone. Left out: 30 s. */
  lease?: Duration;
}

export interface WorkerOptions {
  /** From which share of busy time on its event loop is saturated: above 0, up to 1. Left out: 0.9. */
  utilization?: number;
  /** And how late it has to be then, on average: 1 ms to 10 s. Left out: 20 ms. */
  delay?: Duration;
}

/** The same, checked. */
export interface Shedding {
  readonly priority: ShedOptions['priority'];
  /** For all requests, and for all but critical ones. */
  readonly fleet: readonly Policy<RateLimitContext>[];
  readonly worker: SaturationLimits | undefined;
}

const WHERE = 'RateLimitModule shed';

/** How names begin that no policy of the application has. */
export const SHED_NAMES = 'shed.';

/** What both policies of a fleet are called. */
const FLEET = [`${SHED_NAMES}fleet`, `${SHED_NAMES}fleet-others`] as const;

/** @throws {RateLimitConfigError} for what cannot work */
export function readShedding(written: unknown): Shedding | undefined {
  if (written === undefined) return undefined;
  const options = new OptionReader(WHERE, written);
  const wanted = "a function that gives 'critical', 'normal', 'background' or nothing";
  const priority = options.optionalFunction<ShedOptions['priority']>('priority', wanted);
  const [fleet, worker] = [options.value('fleet'), options.value('worker')];
  options.done();
  return {
    priority,
    fleet: fleet === undefined ? [] : readFleet(fleet),
    worker: worker === undefined ? undefined : readWorker(worker),
  };
}

/** How important a request is. What is no priority is none that was said. */
export function priorityOf(
  priority: ShedOptions['priority'],
  said: PriorityName,
  context: RateLimitContext,
): PriorityName {
  const asked = priority?.(context);
  return asked !== undefined && PRIORITIES.includes(asked) ? asked : said;
}

/** Those of a fleet that a request takes a place of. */
export function fleetOf(
  { fleet, priority }: Shedding,
  said: PriorityName,
): readonly Policy<RateLimitContext>[] {
  const [all, others] = fleet;
  if (all === undefined || others === undefined) return [];
  if (priority === undefined) return said === 'critical' ? [all] : [all, others];
  const skip = (context: RateLimitContext) => priorityOf(priority, said, context) === 'critical';
  return [all, { ...others, skip }];
}

function readFleet(written: unknown): Policy<RateLimitContext>[] {
  const where = `${WHERE} fleet`;
  const options = new OptionReader(where, written);
  const limit = options.integer('limit', { min: 1, max: 10_000 });
  const reserve = options.value('reserve') ?? 0.2;
  if (typeof reserve !== 'number' || !(reserve >= 0 && reserve <= 0.9)) {
    throw options.refuse('reserve', 'a share from 0 to 0.9, such as 0.2 for a fifth of the limit', reserve);
  }
  const lease = options.value('lease') ?? '30s';
  options.done();
  const others = Math.max(1, Math.floor(limit * (1 - reserve)));
  return [limit, others].map((amount, index) => {
    const policy = { algorithm: 'concurrency', limit: amount, lease, key: key.global() };
    return { ...compilePolicy<RateLimitContext>(FLEET[index]!, where, policy, 'open'), sheds: true };
  });
}

function readWorker(written: unknown): SaturationLimits {
  const options = new OptionReader(`${WHERE} worker`, written);
  const utilization = options.value('utilization') ?? 0.9;
  if (typeof utilization !== 'number' || !(utilization > 0 && utilization <= 1)) {
    throw options.refuse('utilization', 'a share above 0, up to 1, such as 0.9', utilization);
  }
  const delayMs = options.duration('delay', { min: 1, max: 10_000 }, 20);
  options.done();
  return { utilization, delayMs };
}
