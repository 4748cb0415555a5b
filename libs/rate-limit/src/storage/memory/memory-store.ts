import type { Step } from '../../algorithms/algorithm.js';
import { type Clock, systemClock } from '../../decision/clock.js';
import type { Verdict } from '../../decision/decision.js';
import type { Answer, Attempt, Store } from '../store.js';
import { takes, toVerdict, toVerdicts } from '../verdicts.js';
import { Entries } from './entries.js';
import { Sweeper } from './sweeper.js';

/** How the keys begin that new ones of a policy share. */
const OTHERS = 'the others of ';

/**
 * State in this process. What has run out is let go of in slices of less than a millisecond, whether others come or not.
 *
 * When it is full, a new key takes the place of one that has run out, or else of a client that can still take something,
 * rather of an idle one. A client that is blocked keeps its place until its time has come, however many others come;
 * where only such are found, new keys of a policy share one entry.
 *
 * @example
 * const store = new MemoryStore(() => testClock.now);
 */
export class MemoryStore implements Store {
  readonly name = 'memory';
  readonly place = 'the memory of this process';
  readonly #entries = new Entries();
  readonly #sweeper = new Sweeper(
    (entries) => this.#entries.sweep(entries, this.clock()),
    () => this.#entries.size > 0,
  );

  /** @param mostKeys how many are held at the most; one takes some 100 bytes */
  constructor(
    private readonly clock: Clock = systemClock,
    private readonly mostKeys = 1_000_000,
  ) {}

  open(): void {
    // Nothing to connect.
  }

  consume(attempts: readonly Attempt[]): Answer {
    const now = this.clock();
    return attempts.length === 1 ? this.#decideOne(attempts[0]!, now) : this.#decideAll(attempts, now);
  }

  reset(key: string): void {
    this.#entries.seek(key);
    if (this.#entries.found) this.#entries.remove();
  }

  close(): void {
    this.#sweeper.stop();
    this.#entries.clear();
  }

  /** How many keys are held, expired ones that were not swept yet included. */
  get size(): number {
    return this.#entries.size;
  }

  /** Most requests are one attempt: what was found for it is still found when something is to be kept. */
  #decideOne(attempt: Attempt, now: number): Answer {
    const key = this.#seek(attempt, now);
    const step = attempt.rule.step(this.#entries.state, now, attempt);
    const verdict = toVerdict(attempt, step, step.allowed);
    this.#keep(key, step, verdict, now);
    return { at: now, verdicts: [verdict] };
  }

  #decideAll(attempts: readonly Attempt[], now: number): Answer {
    const keys: string[] = [];
    for (const attempt of attempts) keys.push(this.#seek(attempt, now));
    const steps: Step<unknown>[] = [];
    for (let index = 0; index < attempts.length; index += 1) {
      this.#entries.seek(keys[index]!);
      // An expired state is handed to the step as it is: a step answers alike with it and without it.
      steps.push(attempts[index]!.rule.step(this.#entries.state, now, attempts[index]!));
    }
    const verdicts = toVerdicts(attempts, steps);
    const passed = takes(attempts, steps);
    for (let index = 0; index < steps.length; index += 1) {
      const step = steps[index]!;
      if (!passed && step.allowed) continue;
      this.#entries.seek(keys[index]!);
      this.#keep(keys[index]!, step, verdicts[index]!, now);
    }
    return { at: now, verdicts };
  }

  /** Where an attempt is counted: under its own key, if there is or can be room for it. */
  #seek({ key, cost }: Attempt, now: number): string {
    this.#entries.seek(key);
    if (this.#entries.size < this.mostKeys || cost <= 0 || this.#entries.found) return key;
    if (this.#entries.makeRoom(now)) return key;
    const others = `${OTHERS}${key.slice(key.indexOf('}') + 1)}`;
    this.#entries.seek(others);
    return others;
  }

  /** Keeps what a step says of the key that was sought. */
  #keep(key: string, { allowed, state, ttlMs }: Step<unknown>, verdict: Verdict, now: number): void {
    const entries = this.#entries;
    // What new ones share keeps its place as well, or the next of them would take it and have the limit to himself.
    const blockedUntil = now + (key.startsWith(OTHERS) ? ttlMs : blockedForMs(verdict));
    const expiresAt = now + ttlMs;
    if (entries.found) entries.use(blockedUntil);
    if (state === undefined) {
      // Where a longer window denies, what is kept has to outlive the wait that it promises.
      if (!allowed && entries.found) entries.prolong(expiresAt);
    } else if (ttlMs === 0) {
      if (entries.found) entries.remove();
    } else if (entries.found) {
      entries.rewrite(state, expiresAt, now);
    } else {
      entries.add(state, expiresAt, blockedUntil, now);
      this.#sweeper.start();
    }
  }
}

function blockedForMs(verdict: Verdict): number {
  if (verdict.outcome === 'denied') return verdict.retryAfterMs ?? 0;
  return verdict.remaining === 0 ? verdict.nextMs : 0;
}
