import type { Decision, KnownOverride } from 'nestjs-valkey-rate-limit';

/** How a tenant stands under one policy. */
export interface Usage {
  readonly policy: string;
  /** Left out where there is no limit, or where nobody knows. */
  readonly limit?: number;
  readonly remaining?: number;
  readonly resetMs?: number;
  readonly note?: string;
  readonly override?: KnownOverride;
}

/** @param decision of a peek */
export function usageOf(decision: Decision, override: KnownOverride | undefined): Usage {
  return { policy: decision.policy, ...numbersOf(decision), ...(override && { override }) };
}

function numbersOf(decision: Decision): Partial<Usage> {
  if (decision.outcome === 'unlimited') return { note: 'unlimited' };
  if (decision.outcome !== 'allowed' && decision.outcome !== 'denied')
    return { note: 'the store does not answer' };
  const { limit, remaining, resetMs } = decision;
  return { limit, remaining, resetMs };
}
