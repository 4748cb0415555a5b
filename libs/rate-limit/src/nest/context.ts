import type { ExecutionContext } from '@nestjs/common';
import { noSecret } from './keyed-hash.js';
import { type Identity, type IdentityPart, Known } from './known.js';
import { textOf } from './text-of.js';

/**
 * The part of a request that Fastify and Express have in common. `body`, `query`, `params` and what authentication
 * adds are whatever the application makes of them. In GraphQL `body` is the arguments of the field; messages of gateways
 * and microservices are seen as a request whose `body` is their data.
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

/** What every context of an application has in common. */
export interface ContextOptions {
  readonly identity: Identity;
  /** The keyed hash under the module's `secret`; `undefined` where there is none. */
  readonly hash: ((secret: string) => string) | undefined;
}

/** What keys and costs are made of: one request, operation or message, on its way to a handler. */
export class RateLimitContext {
  #made: Known | undefined;

  constructor(
    readonly request: RateLimitRequest,
    /** Nest's own context: the controller, the handler and their metadata. */
    readonly execution: ExecutionContext,
    /** What clients ask for, such as `GET:/products/:id` or `mutation:logIn`: the same in every instance. */
    readonly route: string,
    private readonly options: ContextOptions,
    private readonly early = false,
  ) {}

  /** Made when it is first wanted, as many keys never ask. */
  get #known(): Known {
    return (this.#made ??= new Known(this.options.identity, this, this.early));
  }

  /** The user's id, as `identify.user` tells it; asked for once, however many policies want it. */
  get user(): string | undefined {
    return this.#known.get('user');
  }

  /** The tenant's id, as `identify.tenant` tells it; asked for once, however many policies want it. */
  get tenant(): string | undefined {
    return this.#known.get('tenant');
  }

  /** The plan, as `identify.plan` tells it; asked for once, however many policies want it. */
  get plan(): string | undefined {
    return this.#known.get('plan');
  }

  /** For those who listen: the tenant, if somebody has asked for it. */
  get knownTenant(): string | undefined {
    return this.#made?.told('tenant');
  }

  /** For the guard: those that authenticate have run. */
  beginIdentity(): void {
    this.#known.begin();
  }

  /** The time zone, as `identify.timeZone` tells it; asked for once, however many policies want it. */
  get timeZone(): string | undefined {
    return this.#known.get('timeZone');
  }

  /** For the guard: waits for what is asynchronous in the identity. */
  identify(parts: readonly IdentityPart[]): Promise<void> | undefined {
    return this.#known.find(parts);
  }

  /** For the guard: nothing more is to be known of whoever it is. */
  giveUpIdentity(): void {
    this.#known.giveUp();
  }

  /** For the guard: it has decided, and nothing that is read from now on may fail. */
  endIdentity(): void {
    this.#known.end();
  }

  /**
   * What to count by instead of a secret: its keyed hash, the same in every instance that has the same `secret`. What is
   * no text stays nobody: `undefined`.
   *
   * @throws {RateLimitConfigError} when the module has no `secret`
   *
   * @example
   * key: (context) => context.hash(context.request.cookies?.session)
   */
  hash(secret: string | undefined): string | undefined {
    const { hash } = this.options;
    if (hash === undefined) throw noSecret('context.hash()', 'it is to hash a text');
    const text = textOf(secret);
    return text === undefined ? undefined : hash(text);
  }
}
