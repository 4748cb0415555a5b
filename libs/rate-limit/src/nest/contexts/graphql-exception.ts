import { RateLimitException, withoutStack } from '../rate-limit.exception.js';
import type { Refusal } from './context-adapter.js';

/**
 * A refusal in GraphQL. What it extends keeps Nest from logging it, and `extensions` is what graphql-js makes the
 * `extensions` of the error that a client gets.
 */
class GraphQLRateLimitException extends RateLimitException {
  constructor(
    private readonly refusal: Refusal,
    readonly extensions: object,
  ) {
    // Kept from where Nest's drivers look for it: they would make INTERNAL_SERVER_ERROR of a body with a statusCode.
    super({}, refusal.status, refusal.decisions);
    this.message = refusal.detail;
  }

  override getResponse(): object {
    return this.refusal.body;
  }
}

export function toGraphQLException(refusal: Refusal, extensions: object): RateLimitException {
  return withoutStack(() => new GraphQLRateLimitException(refusal, extensions));
}
