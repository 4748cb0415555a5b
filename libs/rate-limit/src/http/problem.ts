import type { Decision, DeniedDecision } from '../decision/decision.js';
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

const TYPES = 'https://iana.org/assignments/http-problem-types';

/** How long a client is asked to stay away when nothing could be decided: as long as an outage usually takes to notice. */
const UNAVAILABLE_RETRY_MS = 1_000;

/** The refusal for decisions of which at least one does not pass: 503 where one could not be made, else 429. */
export function refuse(decisions: readonly Decision[]): Refusal {
  const closed = decisions.filter(
    (decision) =>
      decision.outcome === 'unidentified' ||
      (decision.outcome === 'unavailable' && decision.onStoreFailure === 'closed'),
  );
  if (closed.length > 0) return reducedCapacity(closed.map(({ policy }) => policy));
  return quotaExceeded(decisions.filter((decision) => decision.outcome === 'denied'));
}

function quotaExceeded(violated: readonly DeniedDecision[]): Refusal {
  const waits = violated.map(({ retryAfterMs }) => retryAfterMs ?? Infinity);
  const longest = Math.max(...waits);
  const retryAfter = longest === Infinity ? undefined : retryAfterSeconds(longest);
  const names = violated.map(({ policy }) => policy);
  return {
    retryAfter,
    problem: {
      type: `${TYPES}#quota-exceeded`,
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail: `${named(names)} exceeded. ${advice(retryAfter)}`,
      'violated-policies': names,
    },
  };
}

function reducedCapacity(names: readonly string[]): Refusal {
  const retryAfter = retryAfterSeconds(UNAVAILABLE_RETRY_MS);
  return {
    retryAfter,
    problem: {
      type: `${TYPES}#temporary-reduced-capacity`,
      title: 'Request cannot be satisfied due to temporary server capacity constraints',
      status: 503,
      detail: `${named(names)} unavailable. ${advice(retryAfter)}`,
    },
  };
}

function named(names: readonly string[]): string {
  return `The ${names.length === 1 ? 'limit' : 'limits'} ${names.map((name) => `"${name}"`).join(', ')} ${names.length === 1 ? 'is' : 'are'}`;
}

function advice(seconds: number | undefined): string {
  if (seconds === undefined) return 'This request asks for more than the limit ever allows.';
  return `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
}
