import { randomBytes } from 'node:crypto';
import { type Observable, Subject } from 'rxjs';
import type { Ask } from '../algorithms/algorithm.js';
import type { Rule } from '../algorithms/index.js';
import type { Clock } from '../decision/clock.js';
import type { AllowedDecision, Decision, StoreName, UnlimitedDecision } from '../decision/decision.js';
import type { SketchTable } from '../storage/sketch-table.js';
import type { Answer, Attempt, Store } from '../storage/store.js';
import type { Applied, PolicyAttempt } from './attempt.js';
import { DenyCache } from './deny-cache.js';
import { Local } from './local.js';
import type { LimiterLog } from './outage.js';
import type { PlanLimit } from './limit.js';
import type { LimitOverrides } from './overrides.js';
import { type DecisionBatch, type DecisionEvent, toEvents } from './decision-event.js';
import type { Policy } from './policy.js';
import { decideApart, shadowsApart } from './shadows-apart.js';
import { Slices } from './slices.js';
import { storeKey } from './store-key.js';
import { planOf, toDecisions } from './to-decisions.js';
import { Turns } from './turns.js';
import { type StoreState, WatchedStore } from './watched-store.js';

/** What is known to be denied, and the decisions that say so. */
export interface KnownDenials {
  readonly attempts: readonly PolicyAttempt[];
  readonly decisions: readonly Decision[];
}

export interface EngineOptions {
  readonly store: Store;
  readonly overrides: LimitOverrides;
  /** What every key in the store begins with. */
  readonly prefix: string;
  /** Among how many processes limits are shared while each counts in its own memory. */
  readonly instances: () => number;
  readonly log: LimiterLog;
  /** How long a denial of the store is known at the most, without asking again. Left out: it is asked each time. */
  readonly denyCacheMs?: number;
  readonly clock?: Clock;
  /** Whether those who listen are told who was counted. Left out: they are not. */
  readonly exposesKeys?: boolean;
  /** Where processes tell each other what they have seen. Left out: there is but one. */
  readonly sketches?: SketchTable | undefined;
}

/**
 * Policies applied to subjects, decided by the store, and by each policy's `onStoreFailure` when the store does not
 * answer.
 */
export class Engine {
  readonly #store: WatchedStore;
  readonly #local: Local;
  readonly #denials: DenyCache | undefined;
  /** None where the store is in this process: nothing is saved there. */
  readonly #slices: Slices | undefined;
  readonly #decided = new Subject<DecisionBatch>();
  /** Decisions as they are made, those together that were made together. Nobody pays for it while nobody listens. */
  readonly decided$ = this.#decided.asObservable();
  /** The same, one by one. */
  readonly decisions$: Observable<DecisionEvent>;
  /** Those who wait for their turn. */
  readonly turns = new Turns();
  /** Places that are held for what goes on in this process. */
  readonly held = new Set<object>();

  /** Which part of the store keeps what. */
  readonly #shards: Pick<Store, 'shardOf'>;

  constructor(private readonly options: EngineOptions) {
    const { store, prefix, log, denyCacheMs, clock, exposesKeys } = options;
    this.decisions$ = toEvents(this.#decided, exposesKeys ?? false);
    this.#local = new Local(clock);
    this.#denials = denyCacheMs === undefined ? undefined : new DenyCache(denyCacheMs, clock);
    this.#store = new WatchedStore(store, prefix, log, (...recovered) => this.#local.handOver(...recovered));
    this.#shards = store.shardOf === undefined ? {} : { shardOf: (key) => store.shardOf!(key) };
    if (store.name === 'memory') return;
    const ask = (attempts: readonly Attempt[]) => this.#store.decide(attempts);
    this.#slices = new Slices({ ask, giveBack: (attempt) => this.#tell(attempt), clock });
  }

  /** By the clock that was handed in, or else by one that never goes back, in milliseconds. */
  now(): number {
    return this.options.clock?.() ?? performance.now();
  }

  /** Where it counts: `Valkey at 127.0.0.1:6379`. */
  get place(): string {
    return this.#store.place;
  }

  /** How the store is, as far as it is known without asking it. */
  get state(): StoreState {
    return this.#store.state;
  }

  /** What was denied, and need not be asked again; not while the store is left alone, as policies say then what to do. */
  get denials(): DenyCache | undefined {
    return this.#store.isWhole ? this.#denials : undefined;
  }

  /** How often the store has not answered so far. */
  get storeFailures(): number {
    return this.#store.failures;
  }

  /** Whether somebody wants to know of decisions. */
  get isWatched(): boolean {
    return this.#decided.observed;
  }

  /** Where processes tell each other what they have seen, if there can be several. */
  get sketches(): SketchTable | undefined {
    return this.options.sketches;
  }

  /** Limits that change while running. */
  get overrides(): LimitOverrides {
    return this.options.overrides;
  }

  async open(): Promise<void> {
    await this.#store.open();
    const reading = this.options.overrides.open();
    // A store that is not there has nothing to read yet, and a boot does not wait for it.
    if (this.#store.state.circuit === 'closed') await reading;
  }

  async close(): Promise<void> {
    this.turns.close();
    this.options.overrides.close();
    await this.#slices?.close();
    await this.#store.close();
    this.#decided.complete();
  }

  /** What a subject may have under a policy now: by its own numbers, if it has some, or by those of its plan. */
  limitOf({ policy, subject, plan, timeZone }: Applied): PlanLimit {
    const numbers = this.options.overrides.find(policy.name, subject);
    const limit = numbers === undefined ? policy.limitOf(plan) : policy.changed(plan, numbers);
    return timeZone === undefined || limit === 'unlimited' ? limit : limit.inZone(timeZone);
  }

  /** Under which key the store counts a subject, and by which rule; `undefined` if it has no limit. */
  entryOf(applied: Applied): { readonly key: string; readonly rule: Rule } | undefined {
    const limit = this.limitOf(applied);
    return limit === 'unlimited' ? undefined : { key: this.#key(applied), rule: limit.rule };
  }

  /** What asks for so much of a subject's limit; `undefined` if it has none. */
  attempt(applied: Applied, cost: number): PolicyAttempt | undefined {
    const limit = this.limitOf(applied);
    const { policy, subject, plan, timeZone, tenant } = applied;
    if (limit === 'unlimited') {
      if (this.isWatched) this.announce({ decisions: [unlimited(policy.name, plan)] });
      return undefined;
    }
    const { rule } = limit;
    const key = this.#key(applied);
    const lease = holdsPlaces(rule) ? newLease() : undefined;
    const shadow = policy.mode === 'shadow';
    return { policy, subject, plan, timeZone, tenant, limit, rule, key, cost, lease, shadow };
  }

  /**
   * Decides attempts together, all or nothing, in one round trip. Decisions come in the order of the attempts; where some
   * are known to be denied, it is only those, and nobody is asked. Never rejects because of the store.
   */
  decide(attempts: readonly PolicyAttempt[]): readonly Decision[] | Promise<readonly Decision[]> {
    if (!this.isWatched) return this.decideUntold(attempts);
    const begun = performance.now();
    const known = this.knownDenials(attempts);
    if (known !== undefined)
      return this.#told({ ...known, durationMs: performance.now() - begun, cached: true });
    const told = (decisions: readonly Decision[]) =>
      this.#told({ decisions, attempts, durationMs: performance.now() - begun, cached: false });
    const decided = this.#ask(attempts);
    return decided instanceof Promise ? decided.then(told) : told(decided);
  }

  /** The same, and nobody who listens is told of it. */
  decideUntold(attempts: readonly PolicyAttempt[]): readonly Decision[] | Promise<readonly Decision[]> {
    return this.knownDenials(attempts)?.decisions ?? this.#ask(attempts);
  }

  /** Tells whoever listens of decisions that are made without it; of those about limits with what they answer. */
  announce({
    decisions,
    attempts = [],
    cached = false,
  }: Pick<DecisionBatch, 'decisions'> & Partial<DecisionBatch>): readonly Decision[] {
    return this.isWatched && decisions.length > 0
      ? this.#told({ decisions, attempts, durationMs: 0, cached })
      : decisions;
  }

  #told(batch: DecisionBatch): readonly Decision[] {
    this.#decided.next(batch);
    return batch.decisions;
  }

  #ask(attempts: readonly PolicyAttempt[]): readonly Decision[] | Promise<readonly Decision[]> {
    const apart = shadowsApart(attempts, this.#shards);
    if (apart.length === 0) return this.#askTogether(attempts);
    const ask = (each: readonly PolicyAttempt[]) => this.#askTogether(each);
    return decideApart(attempts, apart, ask, (...taken) => this.giveBack(...taken));
  }

  #askTogether(attempts: readonly PolicyAttempt[]): readonly Decision[] | Promise<readonly Decision[]> {
    // Before it is asked, as it may decide while this process is held up. One in this process answers at once.
    const askedAt = this.#store.name === 'memory' ? undefined : this.#denials?.now();
    const answer = (this.#slices ?? this.#store).decide(attempts);
    if (!(answer instanceof Promise)) return this.#decisions(attempts, answer);
    return answer.then((decided) => this.#decisions(attempts, decided, askedAt));
  }

  /** Those of `decide` that are known to be denied; `undefined` where the store has to be asked. */
  knownDenials(attempts: readonly PolicyAttempt[]): KnownDenials | undefined {
    const known = this.denials?.find(attempts);
    if (known === undefined) return undefined;
    const denied = known.indexes.map((index) => attempts[index]!);
    return { attempts: denied, decisions: toDecisions(denied, known, this.#store.name) };
  }

  /**
   * Gives back what attempts took, but for some. What cannot be given back comes back by itself: also a turn in the middle of
   * a line, as those behind it have theirs already, and whoever comes next would get the turn of the last of them.
   */
  async giveBack(
    attempts: readonly PolicyAttempt[],
    decisions: readonly Decision[],
    except: readonly PolicyAttempt[] = [],
  ): Promise<void> {
    const asked = decisions.map(async (decision, index) => {
      const attempt = attempts[index]!;
      if (decision.outcome !== 'allowed' || except.includes(attempt)) return;
      if (attempt.rule.queue === undefined || (await this.#isLast(attempt, decision))) {
        await this.settle(attempt, decision, 0);
      }
    });
    await Promise.allSettled(asked);
  }

  /** Whether nobody stands behind it: the line ends with its turn. To the rounded millisecond. */
  async #isLast(attempt: PolicyAttempt, { at, resetMs, store }: AllowedDecision): Promise<boolean> {
    const line = await this.ask(attempt, { cost: 0 }, store);
    return line !== undefined && line.at + line.verdicts[0]!.resetMs <= at + resetMs + 1;
  }

  /**
   * Makes of what an attempt took what it should have taken: what was too much is given back, and what was too little is
   * taken as far as it is there.
   *
   * @throws {StoreUnavailableError} (rejects) when the store does not answer
   */
  async settle(applied: Applied, decision: AllowedDecision, cost: number): Promise<void> {
    const { at, lease, store } = decision;
    const missing = cost - decision.cost;
    if (missing < 0) {
      await this.#settle(applied, { cost: missing, at, ...(lease !== undefined && { lease }) }, store);
    } else if (missing > 0) {
      const answer = await this.#settle(applied, { cost: missing }, store);
      const { outcome, remaining } = answer?.verdicts[0] ?? { outcome: 'allowed', remaining: 0 };
      if (outcome === 'denied' && remaining > 0) await this.#settle(applied, { cost: remaining }, store);
    }
  }

  /** It is no request, and so neither ends nor lengthens a row of refusals. */
  #settle(applied: Applied, ask: Ask, store: StoreName): Promise<Answer | undefined> {
    return this.#askBy((rule) => rule.settling ?? rule, applied, ask, store);
  }

  /**
   * Asks the store that is meant something that is no question about a limit. A plan without a limit has nothing there.
   *
   * @throws {StoreUnavailableError} (rejects) when it does not answer
   */
  ask(applied: Applied, ask: Ask, from?: StoreName): Promise<Answer | undefined> {
    return this.#askBy((rule) => rule, applied, ask, from);
  }

  async #askBy(
    ruleOf: (rule: Rule) => Rule,
    applied: Applied,
    ask: Ask,
    from?: StoreName,
  ): Promise<Answer | undefined> {
    const limit = this.limitOf(applied);
    if (limit === 'unlimited') return undefined;
    const attempt = { ...ask, rule: ruleOf(limit.rule), key: this.#key(applied) };
    if (from === 'local') {
      return this.#local.consume([attempt], [ruleOf(limit.localRule(this.options.instances()))]);
    }
    if (ask.cost < 0) this.#slices?.refunded(attempt.key, -ask.cost);
    return this.#tell(attempt);
  }

  async #tell(attempt: Attempt): Promise<Answer> {
    try {
      return await this.#store.ask(attempt.key, (store) => store.consume([attempt]));
    } finally {
      // Afterwards, as what was asked before has been answered by then.
      this.#denials?.forget(attempt.key);
    }
  }

  /** @throws {StoreUnavailableError} (rejects) when the store does not answer */
  async reset(policy: Policy<never>, subject: string): Promise<void> {
    const key = this.#key({ policy, subject });
    this.#local.reset(key);
    this.#slices?.forget(key);
    try {
      await this.#store.ask(key, (store) => store.reset(key));
    } finally {
      this.#denials?.forget(key);
    }
  }

  #decisions(
    attempts: readonly PolicyAttempt[],
    answer: Answer | Error,
    askedAt?: number,
  ): readonly Decision[] {
    if (answer instanceof Error) return this.#withoutStore(attempts, answer);
    this.#denials?.remember(attempts, answer, askedAt);
    return toDecisions(attempts, answer, this.#store.name);
  }

  /** Local policies are decided here, all or nothing like everything else: nothing is taken where one is closed. */
  #withoutStore(attempts: readonly PolicyAttempt[], cause: Error): readonly Decision[] {
    const closed = attempts.some(
      ({ policy, shadow }) => policy.onStoreFailure === 'closed' && shadow !== true,
    );
    const instances = this.options.instances();
    const asked = attempts
      .filter(({ policy }) => policy.onStoreFailure === 'local')
      .map((attempt) => (closed ? { ...attempt, cost: 0 } : attempt));
    const rules = asked.map(({ limit }) => limit.localRule(instances));
    const answer = this.#local.consume(asked, rules);
    const counted = asked.map((attempt, index) => ({ ...attempt, rule: rules[index]! }));
    const locals = toDecisions(counted, answer, 'local').values();
    return attempts.map((attempt): Decision => {
      const { policy, limit, shadow } = attempt;
      if (policy.onStoreFailure === 'local') return locals.next().value!;
      const plan = planOf(attempt);
      return {
        outcome: 'unavailable',
        policy: policy.name,
        limit: limit.rule.quota.limit,
        cost: 0,
        onStoreFailure: policy.onStoreFailure,
        cause,
        ...(plan !== undefined && { plan }),
        ...(shadow === true && { shadow }),
      };
    });
  }

  #key({ policy: { name, rule }, subject }: Applied): string {
    return storeKey(this.options.prefix, subject, name, rule.id);
  }
}

/** Of whoever has no limit under a policy. */
export function unlimited(policy: string, plan: string | undefined): UnlimitedDecision {
  return { outcome: 'unlimited', policy, cost: 0, ...(plan !== undefined && { plan }) };
}

/** Whether what is taken is a place that is held until it is released. */
export function holdsPlaces(rule: Rule): boolean {
  return rule.quota.unit === 'concurrent-requests';
}

/** 72 random bits: long enough never to meet another, short enough for a store that keeps one for each place. */
function newLease(): string {
  return randomBytes(9).toString('base64url');
}
