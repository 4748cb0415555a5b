import { RateLimitConfigError, show } from '../decision/config-error.js';
import type { FailureMode } from '../decision/decision.js';
import { compilePolicy, type Policy } from '../limiter/policy.js';
import type { RateLimitContext } from './context.js';
import { readUses } from './decorators.js';
import {
  describePlace,
  type NamedPlace,
  type Place,
  routeDigest,
  routeName,
  targetOf,
} from './route-name.js';

interface Inline {
  readonly place: NamedPlace;
  /** What is written there. */
  readonly written: object;
}

/**
 * The policies that are written at classes and handlers, each under a name that no other policy has: the one that is
 * written with it, or one that is made of the route.
 */
export class InlinePolicies {
  readonly #compiled: (Inline & { readonly policy: Policy<RateLimitContext> })[] = [];
  readonly #names = new Set<string>();

  constructor(
    places: readonly NamedPlace[],
    private readonly configured: ReadonlyMap<string, unknown>,
    private readonly onStoreFailure: FailureMode,
  ) {
    const all = places.flatMap(inlineAt);
    // Those with a name first, so that no made name takes it.
    for (const inline of all) if (nameOf(inline) !== undefined) this.#addNamed(inline);
    const unnamed = all.filter((inline) => nameOf(inline) === undefined);
    for (const inline of unnamed) this.#add(inline, this.#makeName(inline, unnamed));
  }

  has(name: unknown): boolean {
    return this.#names.has(name as string);
  }

  find(place: Place, written: object): Policy<RateLimitContext> | undefined {
    const found = this.#compiled.find((inline) => inline.written === written && isSame(inline.place, place));
    return found?.policy;
  }

  /** One and the same object under its name is one policy, wherever it stands; another one of that name is a mistake. */
  #addNamed(inline: Inline): void {
    const name = nameOf(inline);
    const same = this.#compiled.find(({ written }) => written === inline.written);
    if (same !== undefined) {
      this.#compiled.push({ ...inline, policy: same.policy });
    } else if (typeof name === 'string' && !this.#isTaken(name)) {
      this.#add(inline, name);
    } else {
      throw new RateLimitConfigError(
        'DUPLICATE_NAME',
        describePlace(inline.place),
        `there is another policy ${show(name)}. Give this one a name of its own, or configure the policy in the module ` +
          'and name it at both places.',
      );
    }
  }

  #makeName({ place }: Inline, unnamed: readonly Inline[]): string {
    const name = routeName(place);
    const alike = unnamed.filter((other) => routeName(other.place) === name);
    if (alike.length === 1 && !this.#isTaken(name)) return name;
    const base = `${name}-${routeDigest(place)}`;
    // Several on one handler are told apart by their order there.
    for (let count = 1; ; count += 1) {
      const distinct = count === 1 ? base : `${base}-${count}`;
      if (!this.#isTaken(distinct)) return distinct;
    }
  }

  #add(inline: Inline, name: string): void {
    // How it is settled is said of its use, as beside a policy's name.
    const { name: _, settle: _settle, ...options } = inline.written as { name?: unknown; settle?: unknown };
    const where = `@RateLimit at ${describePlace(inline.place)}`;
    const policy = compilePolicy<RateLimitContext>(name, where, options, this.onStoreFailure);
    this.#names.add(name);
    this.#compiled.push({ ...inline, policy });
  }

  #isTaken(name: string): boolean {
    return this.configured.has(name) || this.#names.has(name);
  }
}

function inlineAt(place: NamedPlace): Inline[] {
  const policies = readUses(targetOf(place)).map(({ policy }) => policy);
  return policies.flatMap((written) =>
    typeof written === 'object' && written !== null ? [{ place, written }] : [],
  );
}

function isSame(one: Place, other: Place): boolean {
  return one.controller === other.controller && targetOf(one) === targetOf(other);
}

function nameOf({ written }: Inline): unknown {
  return (written as { name?: unknown }).name;
}
