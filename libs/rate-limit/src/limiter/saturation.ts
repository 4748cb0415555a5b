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

/**
 * How much is refused, in per cent: up to 100 a growing share of what can wait, from there to 200 all of that and a growing
 * share of the rest, but for what is critical.
 */
export type ShedLevel = number;

const HIGHEST: ShedLevel = 200;

/** Where all is refused that can wait. */
const MIDDLE: ShedLevel = 100;

/** How often the load is measured. */
export const SAMPLE_MS = 100;

/** How far a saturated sample takes it up that is just as late as its limit. One that is later takes it further. */
const UP = 40;

/** How far it goes otherwise: what comes back must not be too much at once. */
const STEP = 5;

/** So many busy samples in a row take it up where some are refused already: it was too far down. */
const BUSY = 5;

/** So many calm samples in a row take it down, as long as it was not too far down before: that is where it would be again. */
const QUICK = 2;

/** At the most, where each step down so far was one too many: sixteen seconds. */
const SLOWEST = 160;

/**
 * Below this share of the limit of utilization a sample is calm. In between nothing changes, so that what is let in stays
 * below what the process can do.
 */
const CALM = 0.9;

/**
 * Up at once, the further the later the event loop is, but not over the middle in one; down in small steps, as what was
 * refused comes back, and up again in small steps where that was too much. A step down that was one too many makes the next
 * one there twice as late, and one that was not half as late.
 *
 * @example
 * const steps = new ShedSteps({ utilization: 0.95, delayMs: 20 });
 * steps.next({ utilization: 1, delayMs: 25 }); // 50: every other request that can wait is refused
 */
export class ShedSteps {
  #level: ShedLevel = 0;
  /** Samples in a row. */
  #busy = 0;
  #calm = 0;
  /** Whether nothing has happened since it went down. */
  #hasGoneDown = false;
  /** Where it was too far down, and how many calm samples the next step there takes. */
  #failedAt: ShedLevel = 0;
  #needed = QUICK;

  constructor(private readonly limits: SaturationLimits) {}

  get level(): ShedLevel {
    return this.#level;
  }

  next({ utilization, delayMs }: Load): ShedLevel {
    const { limits } = this;
    const isBusy = utilization >= limits.utilization;
    const isCalm = utilization < CALM * limits.utilization;
    this.#busy = isBusy ? this.#busy + 1 : 0;
    this.#calm = isCalm ? this.#calm + 1 : 0;
    if (isBusy && delayMs >= limits.delayMs) this.#up(Math.round((UP * delayMs) / limits.delayMs));
    else if (isBusy && this.#busy >= BUSY && this.#level > 0) this.#up(STEP);
    else if (isCalm) this.#rest();
    return this.#level;
  }

  #up(by: number): void {
    if (this.#hasGoneDown) {
      this.#failedAt = this.#level;
      this.#needed = Math.min(2 * this.#needed, SLOWEST);
    }
    this.#hasGoneDown = false;
    this.#busy = 0;
    this.#level = Math.min(this.#level < MIDDLE ? MIDDLE : HIGHEST, this.#level + by);
  }

  #rest(): void {
    const down = Math.max(0, this.#level - STEP);
    const isKnown = down > this.#failedAt;
    if (this.#calm < (isKnown ? QUICK : this.#needed)) return;
    this.#calm = 0;
    if (this.#level <= this.#failedAt) this.#needed = Math.max(this.#needed / 2, QUICK);
    this.#hasGoneDown = this.#level > 0;
    this.#level = down;
  }
}

/**
 * Takes a share of those who come, as evenly as can be.
 *
 * @example
 * const share = new Share();
 * [1, 2, 3, 4].map(() => share.takes(25)); // [false, false, false, true]
 */
export class Share {
  #owed = 0;

  /** @param percent 0 to 100 */
  takes(percent: number): boolean {
    this.#owed += percent;
    if (this.#owed < 100) return false;
    this.#owed -= 100;
    return true;
  }
}

/**
 * How saturated this process is, by how busy its event loop is and how late. It keeps no process alive.
 */
export class Saturation {
  readonly #steps: ShedSteps;
  #timer: NodeJS.Timeout | undefined;
  #delays: IntervalHistogram | undefined;
  #before: EventLoopUtilization | undefined;
  #isStopped = false;

  constructor(limits: SaturationLimits) {
    this.#steps = new ShedSteps(limits);
  }

  get level(): ShedLevel {
    return this.#steps.level;
  }

  /** Begins to look, once. */
  start(): void {
    if (this.#delays !== undefined || this.#isStopped) return;
    this.#delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    this.#delays.enable();
    this.#before = performance.eventLoopUtilization();
    this.#timer = setInterval(() => this.#sample(this.#delays!), SAMPLE_MS).unref();
  }

  /** For good. */
  stop(): void {
    this.#isStopped = true;
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
