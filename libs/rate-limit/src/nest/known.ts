import { RateLimitConfigError } from '../decision/config-error.js';
import { asError } from './as-error.js';
import { textOf } from './text-of.js';
import { isThenable } from './thenable.js';

/** What can be known of whoever is behind a request. */
export type IdentityPart = 'user' | 'tenant' | 'plan' | 'timeZone';

/** In which order they are asked: what comes later may be made of what came before. */
export const IDENTITY_PARTS: readonly IdentityPart[] = ['user', 'tenant', 'plan', 'timeZone'];

/** The same, checked. */
export interface Identity {
  /** Those that the application tells. */
  readonly told: readonly IdentityPart[];
  ask(part: IdentityPart, context: unknown): unknown;
}

/** What asking came to. */
type Found = { readonly value: string | undefined } | { readonly failure: Error };

const NOBODY: Found = { value: undefined };

/** What a part has found while it is being asked for. */
const CIRCLE: Found = {
  failure: new RateLimitConfigError(
    'IDENTITY_CIRCLE',
    'RateLimitModule identify',
    'a function asks for what it is to tell. Each may be made of those before it: user, tenant, plan, timeZone.',
  ),
};

/** What is known so far of whoever is behind one request. */
export class Known {
  readonly #found: { [Part in IdentityPart]?: Found | Promise<Found> } = {};
  #over = false;

  /** @param early whether it is too early to ask, because those who authenticate have not run */
  constructor(
    private readonly identity: Identity,
    private readonly context: unknown,
    private early: boolean,
  ) {}

  /** It is not too early any more. */
  begin(): void {
    this.early = false;
  }

  /**
   * Finds out what is needed, and before it what that may be made of. A promise only where the application has to be
   * waited for.
   *
   * @throws {Error} (or rejects with it) what the functions of the application fail with, of those that are needed
   */
  find(parts: readonly IdentityPart[]): Promise<void> | undefined {
    const last = IDENTITY_PARTS.indexOf(parts.at(-1)!);
    for (let index = 0; index <= last; index += 1) {
      const found = this.#ask(IDENTITY_PARTS[index]!);
      if (found instanceof Promise) return found.then(() => this.find(parts));
    }
    for (const part of parts) this.get(part);
    return undefined;
  }

  /** What is not known never will be, and nobody is asked again. */
  giveUp(): void {
    for (const part of IDENTITY_PARTS) {
      const found = this.#found[part];
      if (found === undefined || !('value' in found)) this.#found[part] = NOBODY;
    }
  }

  /** Nothing depends on it any more: what cannot be told is nobody. */
  end(): void {
    this.#over = true;
  }

  /** What has been found out so far. Nobody is asked. */
  told(part: IdentityPart): string | undefined {
    const found = this.#found[part];
    return found !== undefined && 'value' in found ? found.value : undefined;
  }

  /** @throws {Error} when it cannot be told, or not yet */
  get(part: IdentityPart): string | undefined {
    const found = this.early ? undefined : this.#ask(part);
    if (found !== undefined && 'value' in found) return found.value;
    if (this.#over) return undefined;
    if (found === undefined || found instanceof Promise) throw notKnownYet(part, this.early);
    throw found.failure;
  }

  #ask(part: IdentityPart): Found | Promise<Found> {
    return this.#found[part] ?? this.#askNow(part);
  }

  #askNow(part: IdentityPart): Found | Promise<Found> {
    this.#found[part] = CIRCLE;
    try {
      const told = this.identity.ask(part, this.context);
      return (this.#found[part] = isThenable(told) ? this.#await(part, told) : { value: textOf(told) });
    } catch (error) {
      return (this.#found[part] = { failure: asError(error) });
    }
  }

  #await(part: IdentityPart, told: PromiseLike<unknown>): Promise<Found> {
    const keep = (found: Found): Found => {
      if (this.#found[part] === waiting) this.#found[part] = found;
      return found;
    };
    const waiting = Promise.resolve(told).then(
      (value) => keep({ value: textOf(value) }),
      (error: unknown) => keep({ failure: asError(error) }),
    );
    return waiting;
  }
}

function notKnownYet(part: IdentityPart, early: boolean): RateLimitConfigError {
  const why = early
    ? 'nobody is known before the guards that authenticate have run, and what reads it does not wait for them'
    : `identify.${part} is asynchronous, and was not asked for before`;
  return new RateLimitConfigError(
    'NOT_KNOWN_YET',
    `context.${part}`,
    `${why}. Say so on the function that reads it: Object.assign(function, { needs: ['${part}'] }).`,
  );
}
