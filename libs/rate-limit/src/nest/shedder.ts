import { Inject, Injectable } from '@nestjs/common';
import type { ShedDecision } from '../decision/decision.js';
import { Saturation, type ShedLevel } from '../limiter/saturation.js';
import { COMPILED_OPTIONS, type CompiledOptions } from './compile-options.js';
import type { RateLimitContext } from './context.js';
import type { PriorityName } from './priority.js';
import { priorityOf } from './shed-options.js';

/** From which level on a request is refused; critical ones never are. */
const REFUSED_FROM: Readonly<Record<PriorityName, number>> = { critical: Infinity, normal: 2, background: 1 };

const SATURATED: readonly ShedDecision[] = Object.freeze([
  Object.freeze({ outcome: 'shed', policy: 'shed.worker', cost: 0, reason: 'saturated' }),
]);

/** Refuses what is less important while this process is saturated. */
@Injectable()
export class Shedder {
  readonly #saturation: Saturation | undefined;

  constructor(@Inject(COMPILED_OPTIONS) private readonly options: CompiledOptions) {
    const limits = options.shedding?.worker;
    this.#saturation = limits && new Saturation(limits);
  }

  /** 0 while everybody may come. */
  get level(): ShedLevel {
    return this.#saturation === undefined ? 0 : this.#saturation.level;
  }

  start(): void {
    this.#saturation?.start();
  }

  stop(): void {
    this.#saturation?.stop();
  }

  /** @returns the decisions of one that is refused; `undefined` for one that may go on */
  refusal(said: PriorityName, context: RateLimitContext): readonly ShedDecision[] | undefined {
    const priority = priorityOf(this.options.shedding?.priority, said, context);
    return this.level >= REFUSED_FROM[priority] ? SATURATED : undefined;
  }
}
