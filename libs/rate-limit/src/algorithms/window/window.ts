import type { AllowedVerdict, DeniedVerdict } from '../../decision/decision.js';
import type { Ask, Step } from '../algorithm.js';

/** The counter of fixed-window and quota: when the window that was counted in ends, in milliseconds since 1970. */
export type WindowState = readonly [end: number, count: number];

/** The window of now, in milliseconds since 1970. */
export interface Window {
  readonly start: number;
  readonly end: number;
}

export function step(
  state: WindowState | undefined,
  now: number,
  { cost, at = now }: Ask,
  limit: number,
  { start, end }: Window,
): Step<WindowState> {
  const left = end - now;
  const running = state !== undefined && state[0] > now;
  const count = running ? state[1] : 0;
  const allowed = cost <= 0 || cost <= limit - count;
  // A window that ends at another time than the clock says was counted before the clock stepped back, or with another
  // window: its count goes into the window of now, or the end that is promised would not come true.
  const misplaced = running && state[0] !== end;
  // What was taken in a window that has ended has been given back by its end.
  const change = cost < 0 && at < start ? 0 : cost;
  const total = allowed ? Math.max(0, count + change) : count;
  const writes = allowed ? change !== 0 : misplaced;
  return {
    allowed,
    reading: [count, left],
    state: writes ? [end, total] : undefined,
    ttlMs: total > 0 ? left : 0,
  };
}

/** What a client is told, of a policy with a limit. */
export const verdicts = {
  allowed: ([count, left]: readonly number[], taken: number, { limit }: Limited): AllowedVerdict => {
    const { remaining, nextMs, resetMs } = usage(count! + taken, left!, limit);
    return { outcome: 'allowed', delayMs: 0, remaining, nextMs, resetMs };
  },
  denied: ([count, left]: readonly number[], cost: number, { limit }: Limited): DeniedVerdict => {
    const { remaining, nextMs, resetMs } = usage(count!, left!, limit);
    return { outcome: 'denied', retryAfterMs: cost > limit ? undefined : left!, remaining, nextMs, resetMs };
  },
};

interface Limited {
  readonly limit: number;
}

function usage(count: number, left: number, limit: number) {
  // Of nothing, nothing comes back.
  const wait = count > 0 && limit > 0 ? left : 0;
  return { remaining: Math.max(0, limit - count), nextMs: wait, resetMs: wait };
}
