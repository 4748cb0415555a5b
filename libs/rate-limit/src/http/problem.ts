import { type Decision, rejects } from '../decision/decision.js';
import { retryAfterSeconds } from './retry-after.js';

/**
 * A problem document (RFC 9457), as it is sent with `application/problem+json`. The types are those that
 * draft-ietf-httpapi-ratelimit-headers registers.
 */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** The names of the violated policies, where a quota was exceeded. */
  readonly 'violated-policies'?: readonly string[];
}

/** A refusal as it goes over the wire. */
export interface Refusal {
  readonly problem: Problem;
  /** Whole seconds, at least 1; `undefined` when no wait would help. */
  readonly retryAfter: number | undefined;
}

/** The refusals of a second of any attack are few: so many kinds are kept, and made anew when there are more. */
const MOST_KEPT = 1_000;
const kept = new Map<string, Refusal>();

const TYPES = 'https://iana.org/assignments/http-problem-types';

/** How long a client is asked to stay away when nothing could be decided: as long as an outage usually takes to notice. */
const UNAVAILABLE_RETRY_MS = 1_000;

/**
 * The refusal for decisions of which at least one does not pass: 403 where a list forbids it, 503 where one could not be
 * made, else 429. The same one for the same policies and the same seconds, so that a refusal costs less than what it
 * spares.
 */
export function refuse(decisions: readonly Decision[]): Refusal {
  const rejected = decisions.filter(rejects);
  const forbidden = rejected.filter(({ outcome }) => outcome === 'forbidden');
  if (forbidden.length > 0) return kindOf(forbid, forbidden, Infinity);
  const violated = rejected.filter((decision) => decision.outcome === 'denied');
  const closed = rejected.filter(({ outcome }) => outcome !== 'denied');
  if (closed.length > 0) {
    const isShed = closed.every(({ outcome }) => outcome === 'shed');
    return kindOf(isShed ? shed : reducedCapacity, closed, UNAVAILABLE_RETRY_MS);
  }
  const waits = violated.map(({ retryAfterMs }) => retryAfterMs ?? Infinity);
  const isAbuse = violated.some(({ penaltyMs }) => penaltyMs !== undefined);
  return kindOf(isAbuse ? abnormalUsage : quotaExceeded, violated, Math.max(...waits));
}

type MakeProblem = (names: readonly string[], retryAfter: number | undefined) => Problem;

function kindOf(make: MakeProblem, of: readonly { readonly policy: string }[], waitMs: number): Refusal {
  const retryAfter = waitMs === Infinity ? undefined : retryAfterSeconds(waitMs);
  let kind = `${make.name} ${retryAfter}`;
  for (const { policy } of of) kind += ` ${policy}`;
  const present = kept.get(kind);
  if (present !== undefined) return present;
  const names = Object.freeze(of.map(({ policy }) => policy));
  const problem = Object.freeze(make(names, retryAfter));
  const refusal = { problem, retryAfter };
  if (kept.size >= MOST_KEPT) kept.clear();
  kept.set(kind, refusal);
  return refusal;
}

function quotaExceeded(names: readonly string[], retryAfter: number | undefined): Problem {
  return {
    type: `${TYPES}#quota-exceeded`,
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    detail: `${named(names)} exceeded. ${advice(retryAfter)}`,
    'violated-policies': names,
  };
}

/** Where the client is under a penalty, which may be by one of them only. */
function abnormalUsage(names: readonly string[], retryAfter: number | undefined): Problem {
  return {
    type: `${TYPES}#abnormal-usage-detected`,
    title: 'Request not satisfied due to detection of abnormal request pattern',
    status: 429,
    detail: `${named(names)} exceeded, again and again. ${advice(retryAfter)}`,
    'violated-policies': names,
  };
}

/** No type of its own: RFC 9457 §4.2.1 has the title be that of the status then. */
function forbid(names: readonly string[]): Problem {
  return {
    type: 'about:blank',
    title: 'Forbidden',
    status: 403,
    detail: `${names.map((name) => `"${name}"`).join(', ')} does not admit this client.`,
  };
}

/** The same for whoever was refused so that others can be served. */
function shed(names: readonly string[], retryAfter: number | undefined): Problem {
  return {
    ...reducedCapacity(names, retryAfter),
    detail: `There is not enough for all. ${advice(retryAfter)}`,
  };
}

function reducedCapacity(names: readonly string[], retryAfter: number | undefined): Problem {
  return {
    type: `${TYPES}#temporary-reduced-capacity`,
    title: 'Request cannot be satisfied due to temporary server capacity constraints',
    status: 503,
    detail: `${named(names)} unavailable. ${advice(retryAfter)}`,
  };
}

function named(names: readonly string[]): string {
  return `The ${names.length === 1 ? 'limit' : 'limits'} ${names.map((name) => `"${name}"`).join(', ')} ${names.length === 1 ? 'is' : 'are'}`;
}

function advice(seconds: number | undefined): string {
  if (seconds === undefined) return 'This request asks for more than the limit ever allows.';
  return `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
}
