import type { AllowedVerdict, DeniedVerdict } from '../decision/decision.js';

/**
 * The reading of algorithms that remember each unit: how many are counted; time until the one goes after which more
 * remains; until the last goes; and until a denied cost fits in.
 */
export type UnitsReading = readonly number[];

/** @param stays how long a unit is counted that is taken now */
export function allowedUnits(
  [counted, next, last]: UnitsReading,
  taken: number,
  limit: number,
  stays: number,
): AllowedVerdict {
  return {
    outcome: 'allowed',
    delayMs: 0,
    remaining: Math.max(0, limit - counted! - taken),
    nextMs: counted === 0 && taken > 0 ? stays : next!,
    resetMs: taken > 0 ? stays : last!,
  };
}

export function deniedUnits(
  [counted, next, last, fits]: UnitsReading,
  cost: number,
  limit: number,
): DeniedVerdict {
  return {
    outcome: 'denied',
    retryAfterMs: cost > limit ? undefined : fits!,
    remaining: Math.max(0, limit - counted!),
    nextMs: next!,
    resetMs: last!,
  };
}
