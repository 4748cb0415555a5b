import type { Step } from '../../algorithms/algorithm.js';
import { type Clock, systemClock } from '../../decision/clock.js';
import type { Verdict } from '../../decision/decision.js';
import type { Answer, Attempt, Store } from '../store.js';
import { toVerdicts } from '../verdicts.js';

interface Entry {
  state: unknown;
  expiresAt: number;
  /** Until when the client can take nothing more: it is not forgotten before. */
  blockedUntil: number;
  /** Whether it was asked about since it was last looked at to make room. */
  used: boolean;
}

/** Below this many keys it is not worth looking for expired ones. */
const SWEEP_ABOVE = 1_000;

/** Entries looked at for each new one: two, so that sweeping is faster than growing. */
const SWEEP_STEP = 2;

/** Entries looked at, at the most, for one that can go: a few microseconds. The next look goes on where it ended. */
const ROOM_STEP = 256;

/**
 * State in this process. Expired entries are swept a few at a time whenever a key is new, so there is no timer and no
 * pause.
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
  readonly #entries = new Map<string, Entry>();
  #round = this.#entries.entries();

  /** @param mostKeys how many are held at the most; one takes some 200 bytes */
  constructor(
    private readonly clock: Clock = systemClock,
    private readonly mostKeys = 1_000_000,
  ) {}

  open(): void {
    // Nothing to connect.
  }

  consume(attempts: readonly Attempt[]): Answer {
    const now = this.clock();
    const keys = attempts.map((attempt) => this.#keyOf(attempt, now));
    // An expired state is handed to the step as it is: a step answers alike with it and without it.
    const steps = attempts.map((attempt, index) => {
      return attempt.rule.step(this.#entries.get(keys[index]!)?.state, now, attempt);
    });
    const verdicts = toVerdicts(attempts, steps);
    const passed = steps.every(({ allowed }) => allowed);
    for (let index = 0; index < steps.length; index += 1) {
      const step = steps[index]!;
      if (passed || !step.allowed) this.#keep(keys[index]!, step, verdicts[index]!, now);
    }
    return { at: now, verdicts };
  }

  reset(key: string): void {
    this.#entries.delete(key);
  }

  close(): void {
    this.#entries.clear();
  }

  /** How many keys are held, expired ones that were not swept yet included. */
  get size(): number {
    return this.#entries.size;
  }

  /** Where an attempt is counted: under its own key, if there is or can be room for it. */
  #keyOf({ key, cost }: Attempt, now: number): string {
    const full = this.#entries.size >= this.mostKeys;
    if (!full || cost <= 0 || this.#entries.has(key) || this.#makeRoom(now)) return key;
    return `the others of ${key.slice(key.indexOf('}') + 1)}`;
  }

  #keep(key: string, { allowed, state, ttlMs }: Step<unknown>, verdict: Verdict, now: number): void {
    const entry = this.#entries.get(key);
    const blockedUntil = now + blockedForMs(verdict);
    if (entry !== undefined) {
      entry.used = true;
      entry.blockedUntil = blockedUntil;
    }
    if (state === undefined) {
      // Where a longer window denies, what is kept has to outlive the wait that it promises.
      if (!allowed && entry !== undefined) entry.expiresAt = Math.max(entry.expiresAt, now + ttlMs);
      return;
    }
    if (ttlMs === 0) {
      this.#entries.delete(key);
    } else if (entry !== undefined) {
      entry.state = state;
      entry.expiresAt = now + ttlMs;
    } else {
      this.#entries.set(key, { state, expiresAt: now + ttlMs, blockedUntil, used: false });
      if (this.#entries.size > SWEEP_ABOVE) this.#sweepSome(now);
    }
  }

  #sweepSome(now: number): void {
    for (let looked = 0; looked < SWEEP_STEP; looked += 1) {
      const [key, { expiresAt }] = this.#next() ?? ['', { expiresAt: Infinity }];
      if (expiresAt <= now) this.#entries.delete(key);
    }
  }

  /** Lets one entry go. Answers whether there was one that may. */
  #makeRoom(now: number): boolean {
    let found: string | undefined;
    for (let looked = 0; looked < ROOM_STEP; looked += 1) {
      const next = this.#next();
      if (next === undefined) continue;
      const [key, entry] = next;
      if (entry.expiresAt > now && entry.blockedUntil > now) continue;
      found ??= key;
      if (entry.expiresAt <= now || !entry.used) {
        found = key;
        break;
      }
      entry.used = false;
    }
    return found !== undefined && this.#entries.delete(found);
  }

  /** The next entry in an endless round; `undefined` where a round ends. */
  #next(): [string, Entry] | undefined {
    const { value, done } = this.#round.next();
    if (done !== true) return value;
    this.#round = this.#entries.entries();
    return undefined;
  }
}

function blockedForMs(verdict: Verdict): number {
  if (verdict.outcome === 'denied') return verdict.retryAfterMs ?? 0;
  return verdict.remaining === 0 ? verdict.nextMs : 0;
}
