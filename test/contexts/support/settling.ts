import { beforeEach } from '@jest/globals';
import { ForbiddenException } from '@nestjs/common';
import { type Outcome, type RateLimitContext, RateLimiter } from 'nestjs-valkey-rate-limit';
import { until } from '../../../tools/until.js';
import type { LooseLimiter, LooseOptions } from '../../support/little.js';
import { onValkey } from './limits.js';

/** What the function of a policy was told in this test. */
export const outcomes: (Outcome & { readonly body: unknown })[] = [];
/** What it says a call costs. */
export const real = { cost: 0 };
/** How many handlers are under way, and the most that ever were. */
export const handling = { now: 0, most: 0 };
const waiting: (() => void)[] = [];

beforeEach(() => {
  outcomes.splice(0);
  waiting.splice(0);
  real.cost = handling.now = handling.most = 0;
});

const watch = (outcome: Outcome, { request: { body } }: RateLimitContext) => {
  outcomes.push({ ...outcome, body });
  return real.cost;
};

export const ifSuccess = { settle: 'on-success-refund' };
export const ifFailure = { settle: 'on-failure-refund' };
export const asTold = { settle: watch };

/** Lasts until the test says otherwise. */
export async function last<Answer>(answer: Answer): Promise<Answer> {
  handling.now += 1;
  handling.most = Math.max(handling.most, handling.now);
  await new Promise<void>((resolve) => waiting.push(resolve));
  handling.now -= 1;
  return answer;
}

/** Ends what lasts. */
export function goOn(): void {
  for (const resolve of waiting.splice(0)) resolve();
}

export const fault = () => new Error('as the test wants');

export function decide(isGood: boolean): string {
  if (!isGood) throw new ForbiddenException('as the test wants');
  return 'in';
}

/** Eight calls of everybody together. */
export const eight = { algorithm: 'fixed-window', limit: 8, window: '1m', key: () => 'all' } as const;

interface WithLimiter {
  get(token: typeof RateLimiter): RateLimiter;
}

export async function leftOf(app: WithLimiter, policy: string, key = 'all'): Promise<number | undefined> {
  const decision = await (app.get(RateLimiter) as unknown as LooseLimiter).peek(policy, { key });
  return 'remaining' in decision ? decision.remaining : undefined;
}

/** Waits for what comes after the answer. */
export function leftIs(app: WithLimiter, policy: string, wanted: number, key?: string): Promise<void> {
  return until(`${wanted} to be left of ${policy}`, async () => (await leftOf(app, policy, key)) === wanted);
}

export const stores: readonly [string, () => LooseOptions][] = [
  ['in memory', () => ({})],
  ['on Valkey', onValkey],
];
