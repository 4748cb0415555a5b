import type { Refusal } from './context-adapter.js';

/** What clients of other contexts go by, where HTTP has a status. */
const CODES: Readonly<Record<number, string>> = {
  403: 'FORBIDDEN',
  429: 'RATE_LIMITED',
  503: 'TEMPORARILY_UNAVAILABLE',
};

/**
 * What a client is told of a refusal where there is no HTTP response: the members of the body, what kind of refusal it is,
 * and after how many seconds to try again. What the application's `problem` says itself it says instead.
 */
export function membersOf({ body, status, retryAfter }: Refusal): Record<string, unknown> {
  return {
    code: CODES[status] ?? 'RATE_LIMITED',
    ...(retryAfter !== undefined && { retryAfter }),
    ...body,
  };
}
