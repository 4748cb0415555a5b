import type { Course } from './course.js';
import type { Route, Sent } from './load.js';
import { type Decides, decidesFor } from './scenario.js';

/**
 * What a request was told: it passed and was counted, it passed without, it was refused by a limit, or nobody could
 * decide. Anything else is the answer itself, in words.
 */
export type Kind = 'allowed' | 'passed' | 'denied' | 'unavailable' | (string & {});

/** What may be told, by who decides. `local` always knows; its fields do not say where it counted. */
export const promised: Readonly<Record<Route, Readonly<Record<Decides, readonly Kind[]>>>> = {
  local: {
    nothing: ['allowed', 'denied'],
    denials: ['allowed', 'denied'],
    some: ['allowed', 'denied'],
    everything: ['allowed', 'denied'],
  },
  open: {
    nothing: ['passed'],
    denials: ['passed', 'denied'],
    some: ['passed', 'allowed', 'denied'],
    everything: ['allowed', 'denied'],
  },
  closed: {
    nothing: ['unavailable'],
    denials: ['unavailable', 'denied'],
    some: ['unavailable', 'allowed', 'denied'],
    everything: ['allowed', 'denied'],
  },
};

export function kindOf({ status, error, told, retryAfter }: Sent): Kind {
  if (error !== undefined) return `no answer (${error})`;
  if (status === 200 && retryAfter === undefined) return told ? 'allowed' : 'passed';
  const seconds = Number(retryAfter);
  if (status === 429 && told && seconds > 0) return 'denied';
  if (status === 503 && !told && seconds > 0) return 'unavailable';
  return `${status}, ${told ? 'with' : 'without'} a RateLimit field, Retry-After ${retryAfter ?? 'missing'}`;
}

/** What Valkey decided when a request was under way. While harm is being done or mended, it may be either. */
export function decidesDuring({ scenario, moments, recovered }: Course, { at, ms, client }: Sent): Decides {
  const decides = decidesFor(scenario, client);
  if (decides === 'everything' || at + ms < moments.harming || at > recovered) return 'everything';
  return at > moments.harmed && at + ms < moments.mending ? decides : 'some';
}

/** Those that were under way at some time of the fault. */
export function inFault({ moments, sent }: Course): Sent[] {
  return sent.filter(({ at, ms }) => at + ms > moments.harming && at < moments.mending);
}

/** The time that this share of the requests took at the most; 1 for the slowest. */
export function quantile(sent: readonly Pick<Sent, 'ms'>[], share: number): number {
  const sorted = sent.map(({ ms }) => ms).toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}
