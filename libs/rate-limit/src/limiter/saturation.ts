import {
  type EventLoopUtilization,
  type IntervalHistogram,
  monitorEventLoopDelay,
  performance,
} from 'node:perf_hooks';

/** From which load on a process is saturated: both have to be reached. */
export interface SaturationLimits {
  /** The share of time in which the event loop was busy: above 0, up to 1. */
  readonly utilization: number;
  /** How late the event loop came to what was due, on average, in milliseconds. */
  readonly delayMs: number;
}

/** What was measured since the last time. */
export interface Load {
  readonly utilization: number;
  readonly delayMs: number;
}

/** How much is to be refused: nothing, what can wait, or all but what is critical. */
export type ShedLevel = 0 | 1 | 2;

/** How often the load is measured: as long as a step up takes. */
export const SAMPLE_MS = 100;

/** So many calm samples in a row take it one step down: two seconds, as what was refused comes back then. */
const CALM_SAMPLES = 20;

/** At the most, where each step down so far was one too many: half a minute. */
const MOST_CALM_SAMPLES = 320;

/** Below this share of a limit a sample is calm. In between nothing changes. */
const CALM = 0.8;

/**
 * Up at once, a step for each sample that is saturated; down slowly, and only when there is room for what comes back. A
 * step down that was one too many makes the next one twice as late.
 *
 * @example
 * const steps = new ShedSteps({ utilization: 0.95, delayMs: 50 });
 * steps.next({ utilization: 1, delayMs: 80 }); // 1
 */
export class ShedSteps {
  #level: ShedLevel = 0;
  /** Calm samples in a row, and how many of them the next step down takes. */
  #calm = 0;
  #needed = CALM_SAMPLES;
  /** How many samples ago it went down. */
  #sinceDown = Infinity;

  constructor(private readonly limits: SaturationLimits) {}

  get level(): ShedLevel {
    return this.#level;
  }

  next({ utilization, delayMs }: Load): ShedLevel {
    const { limits } = this;
    this.#sinceDown += 1;
    if (utilization >= limits.utilization && delayMs >= limits.delayMs) this.#up();
    else if (utilization < CALM * limits.utilization || delayMs < CALM * limits.delayMs) this.#rest();
    else this.#calm = 0;
    return this.#level;
  }

  #up(): void {
    if (this.#sinceDown <= this.#needed) this.#needed = Math.min(2 * this.#needed, MOST_CALM_SAMPLES);
    this.#sinceDown = Infinity;
    this.#calm = 0;
    this.#level = this.#level === 0 ? 1 : 2;
  }

  #rest(): void {
    this.#calm += 1;
    if (this.#calm < this.#needed) return;
    this.#calm = 0;
    if (this.#level === 0) {
      this.#needed = CALM_SAMPLES;
      return;
    }
    this.#sinceDown = 0;
    this.#level = this.#level === 2 ? 1 : 0;
  }
}

/** Whether this process is saturated, by how busy its event loop is and how late. It keeps no process alive. */
export class Saturation {
  readonly #steps: ShedSteps;
  #timer: NodeJS.Timeout | undefined;
  #delays: IntervalHistogram | undefined;
  #before: EventLoopUtilization | undefined;

  constructor(limits: SaturationLimits) {
    this.#steps = new ShedSteps(limits);
  }

  get level(): ShedLevel {
    return this.#steps.level;
  }

  start(): void {
    this.#delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    this.#delays.enable();
    this.#before = performance.eventLoopUtilization();
    this.#timer = setInterval(() => this.#sample(this.#delays!), SAMPLE_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#delays?.disable();
  }

  #sample(delays: IntervalHistogram): void {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#before);
    this.#before = now;
    // What it measures is the time from one of its own timers to the next.
    const delayMs = delays.count === 0 ? SAMPLE_MS : Math.max(0, delays.mean / 1e6 - RESOLUTION_MS);
    delays.reset();
    this.#steps.next({ utilization, delayMs });
  }
}

const RESOLUTION_MS = 10;
