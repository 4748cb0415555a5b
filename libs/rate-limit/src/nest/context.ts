import type { ExecutionContext } from '@nestjs/common';

/**
 * The part of a request that Fastify and Express have in common. `body`, `query`, `params` and what authentication
 * adds are whatever the application makes of them.
 */
export interface RateLimitRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly ip?: string;
  readonly socket?: { readonly remoteAddress?: string };
  // The application's own types are not known here, and every use would begin with a cast.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly [property: string]: any;
}

/** Who is behind a request, as the application knows it. */
export interface Identify {
  /** The user's id. Left out: `request.user.id`. `undefined` for a request without a user. */
  user?: (context: RateLimitContext) => string | number | undefined;
}

const defaultUser: NonNullable<Identify['user']> = ({ request }) => request['user']?.id;

/** What keys and costs are made of: one request, on its way to a handler. */
export class RateLimitContext {
  #user: { readonly id: string | undefined } | undefined;

  constructor(
    readonly request: RateLimitRequest,
    /** Nest's own context: the controller, the handler and their metadata. */
    readonly execution: ExecutionContext,
    private readonly identify: Identify,
  ) {}

  /** The user's id; asked for once, however many policies want it. */
  get user(): string | undefined {
    this.#user ??= { id: textOf((this.identify.user ?? defaultUser)(this)) };
    return this.#user.id;
  }
}

/** A value from a request as a text to count by: what is no text, number or boolean is nobody. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return String(value);
  return undefined;
}
