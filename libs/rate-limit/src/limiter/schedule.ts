import type { AllowedDecision, Decision } from '../decision/decision.js';
import type { WorkResult } from './adaptive/estimator.js';
import type { Applied, PolicyAttempt } from './attempt.js';
import type { Engine } from './engine.js';
import { HeldPlaces } from './held-places.js';

/** What else is said of a task. */
export interface TaskOptions {
  /** Gives up when it is aborted, as long as the task has not begun; the task is given it as well. */
  readonly signal?: AbortSignal | undefined;
  /** The longest that the task may wait, in milliseconds; `Infinity` for ever. */
  readonly maxWaitMs: number;
}

/** Why a task did not run. */
export type ScheduleFailure =
  /** It would have had to wait longer than `maxWait`. */
  | 'max-wait'
  /** Too many wait in this process. */
  | 'queue-full'
  /** Its cost is above what the limit ever allows. */
  | 'never'
  /** Valkey did not answer, and the policy is closed then. */
  | 'unavailable'
  /** The limiter was closed while it waited. */
  | 'closed';

const MESSAGES: Readonly<Record<ScheduleFailure, string>> = {
  'max-wait': 'its turn does not come within maxWait',
  'queue-full': 'too many wait for their turn in this process',
  never: 'its cost is above what the limit ever allows',
  unavailable: 'the store does not answer, and the policy is closed then',
  closed: 'the limiter was closed while it waited',
};

/** A task that did not run, and has taken nothing. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';

  constructor(
    readonly policy: string,
    readonly reason: ScheduleFailure,
    /** After which time it may be tried again, where that is known. */
    readonly retryAfterMs?: number | undefined,
    options?: ErrorOptions,
  ) {
    super(`A task under policy "${policy}" was not run: ${MESSAGES[reason]}.`, options);
  }
}

/** How often is asked for a place that is not free. */
const ASK_AGAIN_MS = 100;

/** As many wait in one process for a policy that does not say. */
const MOST_WAITING = 1_000;

/**
 * Runs a task in its turn: waits as long as the limit says, and asks again where it denies.
 *
 * @throws {ScheduleError} (rejects) when the task did not run; what the task throws; or the reason of the signal
 */
export async function schedule<Result>(
  engine: Engine,
  applied: Applied,
  cost: number,
  task: (signal: AbortSignal | undefined) => Result | Promise<Result>,
  options: TaskOptions,
): Promise<Result> {
  const { signal } = options;
  const giveUpAt = performance.now() + options.maxWaitMs;
  for (;;) {
    signal?.throwIfAborted();
    const asked = engine.attempt(applied, cost);
    if (asked === undefined) return task(signal);
    // To ask until it is allowed is what a task does: nobody is to be punished for that.
    const attempt = { ...asked, rule: asked.rule.settling ?? asked.rule };
    const [decision] = (await engine.decideUntold([attempt])) as [Decision];
    const tell = () => engine.announce({ decisions: [decision], attempts: [attempt] });
    // One that asks again is not refused.
    if (decision.outcome !== 'denied') tell();
    try {
      const waitMs = waitOf(decision, attempt);
      // It may have been aborted while the store was asked.
      signal?.throwIfAborted();
      if (waitMs > 0) await wait(engine, attempt, waitMs, giveUpAt, signal);
    } catch (error) {
      if (decision.outcome === 'denied') tell();
      await engine.giveBack([attempt], [decision]);
      throw error;
    }
    if (decision.outcome === 'denied') continue;
    return run(engine, attempt, decision, task, signal);
  }
}

/** How long until its turn, or until it is to ask again. */
function waitOf(decision: Decision, { policy: { name }, rule }: PolicyAttempt): number {
  switch (decision.outcome) {
    case 'allowed':
      return decision.delayMs;
    case 'denied':
      if (decision.retryAfterMs === undefined) throw new ScheduleError(name, 'never');
      // A place is free when whoever holds it is done, and nobody knows when that is.
      return rule.leaseMs === undefined
        ? decision.retryAfterMs
        : Math.min(decision.retryAfterMs, ASK_AGAIN_MS);
    case 'unavailable':
      if (decision.onStoreFailure === 'open' || decision.shadow !== undefined) return 0;
      throw new ScheduleError(name, 'unavailable', undefined, { cause: decision.cause });
    default:
      return 0;
  }
}

async function wait(
  { turns }: Engine,
  { policy: { name }, rule }: PolicyAttempt,
  waitMs: number,
  giveUpAt: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (performance.now() + waitMs > giveUpAt) throw new ScheduleError(name, 'max-wait', waitMs);
  if (turns.waitingFor(name) >= (rule.queue?.maxWaiting ?? MOST_WAITING)) {
    throw new ScheduleError(name, 'queue-full', turns.nextMs(name));
  }
  const turn = turns.join([name], waitMs);
  signal?.addEventListener('abort', turn.leave);
  const end = await turn.ended;
  signal?.removeEventListener('abort', turn.leave);
  signal?.throwIfAborted();
  if (end !== 'turn') throw new ScheduleError(name, 'closed');
}

/** Holds its places while it runs, if it has some. */
async function run<Result>(
  engine: Engine,
  attempt: PolicyAttempt,
  decision: Decision,
  task: (signal: AbortSignal | undefined) => Result | Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (attempt.rule.leaseMs === undefined || decision.outcome !== 'allowed' || decision.cost === 0)
    return task(signal);
  const places = new HeldPlaces(engine, attempt, decision satisfies AllowedDecision);
  let end: WorkResult = 'failure';
  try {
    const result = await task(signal);
    end = 'success';
    return result;
  } finally {
    // Where the store does not answer they come back by themselves, and the task has its result.
    await places.release(signal?.aborted === true ? 'abandoned' : end).catch(() => undefined);
  }
}
