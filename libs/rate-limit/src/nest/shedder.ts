import { Inject, Injectable } from '@nestjs/common';
import type { ShedDecision } from '../decision/decision.js';
import { Saturation, Share, type ShedLevel } from '../limiter/saturation.js';
import { COMPILED_OPTIONS, type CompiledOptions } from './compile-options.js';
import type { RateLimitContext } from './context.js';
import type { PriorityName } from './priority.js';
import { priorityOf } from './shed-options.js';

/** From which level on some are refused; all of them are from 100 above it. Critical ones never are. */
const REFUSED_ABOVE: Readonly<Record<PriorityName, ShedLevel>> = {
  critical: Infinity,
  normal: 100,
  background: 0,
};

const SATURATED: readonly ShedDecision[] = Object.freeze([
  Object.freeze({ outcome: 'shed', policy: 'shed.worker', cost: 0, reason: 'saturated' }),
]);

/** Refuses what is less important while this process is saturated. */
@Injectable()
export class Shedder {
  readonly #saturation: Saturation | undefined;
  readonly #shares: Readonly<Record<PriorityName, Share>> = {
    critical: new Share(),
    normal: new Share(),
    background: new Share(),
  };

  constructor(@Inject(COMPILED_OPTIONS) private readonly options: CompiledOptions) {
    const limits = options.shedding?.worker;
    this.#saturation = limits && new Saturation(limits);
  }

  /** 0 while everybody may come, up to 200. */
  get level(): ShedLevel {
    return this.#saturation === undefined ? 0 : this.#saturation.level;
  }

  /** The same for a request. It looks from the first on: what a process does before is its start, and no load. */
  levelForRequest(): ShedLevel {
    this.#saturation?.start();
    return this.level;
  }

  stop(): void {
    this.#saturation?.stop();
  }

  /** @returns the decisions of one that is refused; `undefined` for one that may go on */
  refusal(said: PriorityName, context: RateLimitContext): readonly ShedDecision[] | undefined {
    const priority = priorityOf(this.options.shedding?.priority, said, context);
    const above = this.level - REFUSED_ABOVE[priority];
    return above > 0 && this.#shares[priority].takes(Math.min(100, above)) ? SATURATED : undefined;
  }
}
