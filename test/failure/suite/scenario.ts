/** What each client may take on each route. */
export const LIMIT = 5;

/** How many decisions a burst is, and how many of them are allowed. */
export const BURST = { decisions: 5_000, allowed: 3_000 };

/** The longest that a decision waits for Valkey, where a scenario does not say otherwise. */
export const DEADLINE_MS = 50;

/**
 * What a harmed Valkey still decides: nothing; refusals of those who have used their limit, which only read; now and
 * then something; or everything, so that nobody notices.
 */
export type Decides = 'nothing' | 'denials' | 'some' | 'everything';

/** A Valkey that will have a bad day. */
export interface Victim {
  /** The module's option of this name, as far as JSON can carry it. */
  readonly valkey: unknown;
  /** Resolves when the harm is done: whatever is asked from then on meets it. */
  harm(): Promise<void>;
  /**
   * Resolves when the server itself would answer again. One that mends itself, in its own time, resolves with when it
   * was last seen not to, by `performance.now()`.
   */
  mend(): Promise<number | void>;
  /** Ends every process, also half-way through. */
  stop(): Promise<void>;
}

export interface Scenario {
  /** What the table calls it. */
  readonly name: string;
  /** How long the fault lasts. One that mends itself takes longer. */
  readonly faultMs: number;
  readonly decides: Decides;
  /** For whom it decides everything all the same. */
  readonly spares?: (client: string) => boolean;
  /** Another deadline: where only what is counted matters, a machine that is busy is not to. */
  readonly deadlineMs?: number;
  /** What the one line says that begins the outage, where that is known for sure. */
  readonly says?: RegExp;
  /** It is harmed before the applications start. */
  readonly atBoot?: true;
  /** What it forgets of what was counted before the fault: the last of it is what it had not yet copied elsewhere. */
  readonly forgets?: 'everything' | 'the last';
  /** The service of each application makes `BURST` decisions during the fault, beside the requests. */
  readonly burst?: true;
  start(): Promise<Victim>;
}

/** What a harmed Valkey still decides for a client. */
export function decidesFor({ spares, decides }: Scenario, client: string): Decides {
  return spares?.(client) ? 'everything' : decides;
}
