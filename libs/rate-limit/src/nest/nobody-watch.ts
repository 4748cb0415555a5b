import type { Policy } from '../limiter/policy.js';
import type { RateLimitContext } from './context.js';
import { isNobody, type KeyResolver } from './keys/resolver.js';
import type { Authentication } from './options.js';

/** After so many requests of nobody, somebody should look whether authentication runs at all. */
const SUSPICIOUS = 100;

/** Told of every request whose key asks for somebody's identity. */
export type Watch = (context: RateLimitContext) => void;

/** Warns, once for each, of policies that count by somebody's identity and never know it. */
export class NobodyWatch {
  /** Of a policy and not of its routes: one for logging in is right to know nobody. */
  readonly #watches = new Map<Policy<never>, Watch>();

  constructor(
    private readonly authentication: Authentication,
    private readonly warn: (line: string) => void,
  ) {}

  of(policy: Policy<never>, key: KeyResolver): Watch | undefined {
    if ((key.needs ?? []).length === 0) return undefined;
    const watch = this.#watches.get(policy) ?? this.#watch(policy, key);
    this.#watches.set(policy, watch);
    return watch;
  }

  #watch({ name }: Policy<never>, key: KeyResolver): Watch {
    let nobody: number | undefined = 0;
    return (context) => {
      if (nobody === undefined) return;
      nobody = isNobody(key, context) ? nobody + 1 : undefined;
      if (nobody !== SUSPICIOUS) return;
      nobody = undefined;
      const mend =
        this.authentication === 'guards'
          ? 'Is there a guard at these handlers that sets request.user?'
          : "Authenticate in a middleware or hook, or say authentication: 'guards'.";
      this.warn(
        `Policy "${name}" counts by ${key.needs!.join(' and ')}, and none of its first ${SUSPICIOUS} requests had one: ` +
          `nobody is told apart by it. ${mend}`,
      );
    };
  }
}
