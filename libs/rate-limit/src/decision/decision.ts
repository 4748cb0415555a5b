/** What a policy does when its store cannot answer: let pass, refuse with 503, or limit in this process. */
export type FailureMode = 'open' | 'closed' | 'local';

/** Which store counted: `local` is this process standing in for a Valkey that does not answer. */
export type StoreName = 'memory' | 'valkey' | 'local';

/** What an algorithm says of one attempt. Time is integer milliseconds from now, amounts are integers. */
export type Verdict = AllowedVerdict | DeniedVerdict;

interface Counted {
  /** How much the key may still take now. */
  readonly remaining: number;
  /** Time until `remaining` grows; 0 when it cannot. The "effective window" of the RateLimit header draft. */
  readonly nextMs: number;
  /** Time until the full limit is back; 0 when it is. */
  readonly resetMs: number;
}

export interface AllowedVerdict extends Counted {
  readonly outcome: 'allowed';
  /** How long the request waits for its turn; 0 except for a leaky bucket. */
  readonly delayMs: number;
}

export interface DeniedVerdict extends Counted {
  readonly outcome: 'denied';
  /**
   * The shortest wait after which the same attempt would be allowed if nobody else came. `undefined` when no wait is
   * long enough, because the cost is above the capacity.
   */
  readonly retryAfterMs: number | undefined;
  /** How long it is blocked for having gone on asking, whatever the limit allows. Only while it is. */
  readonly penaltyMs?: number;
}

interface OfPolicy {
  readonly policy: string;
  /** The policy's limit, as the key's owner was told it. */
  readonly limit: number;
  /** What was taken: the cost of an allowed attempt, and 0 where it, or another of the same request, did not pass. */
  readonly cost: number;
  /** The plan that it was made for, where the policy goes by plan. */
  readonly plan?: string;
  /** In whose days it was counted, where the policy leaves that open. A refund needs it. */
  readonly timeZone?: string;
}

interface ByStore {
  readonly store: StoreName;
  /** When it was decided, in milliseconds since 1970 by the store's clock. A refund needs it. */
  readonly at: number;
}

interface Holding {
  /** Of a concurrency policy: under which id the places are held, to renew or release them. */
  readonly lease?: string;
}

interface InShadow {
  /** Of a policy in shadow: what it would have said. The decision itself always passes, and takes no time. */
  readonly shadow?: Verdict;
}

export type AllowedDecision = OfPolicy & ByStore & AllowedVerdict & Holding & InShadow;
export type DeniedDecision = OfPolicy & ByStore & DeniedVerdict;

/** The store did not answer and the policy does not limit locally. There are no numbers, because nobody counted. */
export interface UnavailableDecision extends OfPolicy {
  readonly outcome: 'unavailable';
  /** What becomes of the attempt: `open` passes, `closed` is refused. */
  readonly onStoreFailure: 'open' | 'closed';
  readonly cause: Error;
  /** It is of a policy in shadow, and passes. */
  readonly shadow?: true;
}

/** The key's plan has no limit under this policy, so nothing was asked and nothing was counted. */
export interface UnlimitedDecision {
  readonly outcome: 'unlimited';
  readonly policy: string;
  readonly cost: 0;
  readonly plan?: string;
}

/** Asking who is behind the request failed, and `onIdentityFailure` is `closed`. Nothing was asked, nothing was counted. */
export interface UnidentifiedDecision {
  readonly outcome: 'unidentified';
  readonly policy: string;
  readonly cost: 0;
  /** What the function of `identify` threw. */
  readonly cause: Error;
  /** It is of a policy in shadow, and passes. */
  readonly shadow?: true;
}

/** The policy's `deny` says so, whatever is left. Nothing was asked, nothing was counted. */
export interface ForbiddenDecision {
  readonly outcome: 'forbidden';
  readonly policy: string;
  readonly cost: 0;
  /** It is of a policy in shadow, and passes. */
  readonly shadow?: true;
}

/** There is not enough for all, whatever the limits of the client allow. Nothing was taken, or it is given back. */
export interface ShedDecision {
  readonly outcome: 'shed';
  readonly policy: string;
  readonly cost: 0;
  /** It still waited for its turn; this process is saturated; all places of the fleet are taken. */
  readonly reason: 'shutting-down' | 'saturated' | 'fleet';
}

/**
 * The outcome of one attempt.
 *
 * Of several attempts that are made together, all are allowed or nothing is taken: those that would have passed are
 * still `allowed`, with the numbers of a client from whom nothing was taken.
 */
export type Decision =
  | AllowedDecision
  | DeniedDecision
  | UnavailableDecision
  | UnlimitedDecision
  | UnidentifiedDecision
  | ForbiddenDecision
  | ShedDecision;

/** Whether a request with these decisions may go on. */
export function passes(decisions: readonly Decision[]): boolean {
  return !decisions.some(rejects);
}

/** Whether a request with this decision may not go on. */
export function rejects(decision: Decision): boolean {
  switch (decision.outcome) {
    case 'allowed':
    case 'unlimited':
      return false;
    case 'denied':
    case 'shed':
      return true;
    case 'unavailable':
      return decision.onStoreFailure === 'closed' && decision.shadow === undefined;
    case 'unidentified':
    case 'forbidden':
      return decision.shadow === undefined;
  }
}
