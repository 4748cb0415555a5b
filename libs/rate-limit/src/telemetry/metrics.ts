import type { Histogram, Meter, Observable, ObservableResult } from '@opentelemetry/api';
import type { Decision, StoreName } from '../decision/decision.js';
import type { PolicyAttempt } from '../limiter/attempt.js';
import type { DecisionBatch } from '../limiter/decision-event.js';
import type { Engine } from '../limiter/engine.js';
import type { Policy } from '../limiter/policy.js';
import { CIRCUIT_STATE, shadowOf, storeOf } from './attributes.js';
import { DecisionCounts, PolicyCounts } from './counts.js';

/** From which share of what a key can have on it is near its limit. */
const NEAR = 0.8;

/** In seconds: from a decision in memory to the longest deadline. */
const DURATIONS = [
  0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10,
];

const CIRCUIT_STATES = ['closed', 'open'] as const;

export interface MetricsOptions {
  readonly engine: Engine;
  /** Those that are known now: their counters begin at 0, as the first increase of one that appears later is lost. */
  readonly policies: Iterable<Pick<Policy<never>, 'name' | 'mode'>>;
  /** How much this process sheds, from 0 to 2. */
  readonly shedLevel: () => number;
}

/** What ends the counts of the limiter before, when another one begins. */
const counted = new WeakMap<Meter, readonly (() => void)[]>();

/** Measures an engine for whoever collects. Names and units as OpenTelemetry has them, and never a key. */
export class Metrics {
  readonly #decisions = new DecisionCounts();
  readonly #near = new PolicyCounts();
  readonly #cached = new PolicyCounts();
  readonly #duration: Histogram;
  /** What takes it out of the instruments, which are the application's and live on: those of states, and those of counts. */
  readonly #ends: (() => void)[] = [];
  readonly #endsOfCounts: (() => void)[] = [];

  constructor(
    private readonly meter: Meter,
    { engine, policies, shedLevel }: MetricsOptions,
  ) {
    for (const end of counted.get(meter) ?? []) end();
    counted.set(meter, this.#endsOfCounts);
    for (const policy of policies) this.#begin(policy, engine.state.store);
    this.#duration = meter.createHistogram('rate_limit.decision.duration', {
      description: 'How long decisions took that were made together.',
      unit: 's',
      advice: { explicitBucketBoundaries: DURATIONS },
    });
    this.#counter('decisions', '{decision}', 'Decisions by policy and outcome.', this.#decisions.tell);
    this.#counter('near_limit', '{decision}', 'Allowed with over 80 % of the limit used.', this.#near.tell);
    this.#counter('deny_cache.hits', '{decision}', 'Denied without asking the store.', this.#cached.tell);
    this.#counter('store.failures', '{failure}', 'How often the store did not answer.', (result) => {
      result.observe(engine.storeFailures);
    });
    this.#sum('store.circuit', '{circuit}', '1 for the state that the circuit is in.', (result) => {
      for (const state of CIRCUIT_STATES) {
        result.observe(state === engine.state.circuit ? 1 : 0, { [CIRCUIT_STATE]: state });
      }
    });
    this.#sum('requests.waiting', '{request}', 'Requests and tasks that wait for their turn.', (result) => {
      result.observe(engine.turns.size);
    });
    this.#sum('leases.held', '{lease}', 'Requests and tasks that hold places.', (result) => {
      result.observe(engine.held.size);
    });
    const description = 'Up to 1 the share of background requests that are refused, then of normal ones.';
    const shedding = meter.createObservableGauge('rate_limit.shed.level', { unit: '1', description });
    this.#ends.push(observe(shedding, (result) => result.observe(shedLevel())));
  }

  /** What was counted can still be collected, as whoever sends metrics does when all else has ended. */
  close(): void {
    for (const end of this.#ends) end();
  }

  add({ decisions, attempts, cached, durationMs }: DecisionBatch): void {
    for (let index = 0; index < decisions.length; index += 1) {
      const decision = decisions[index]!;
      this.#count(decision, attempts[index]);
      if (cached) this.#cached.add(1, decision.policy);
    }
    if (durationMs > 0 && !cached) this.#duration.record(durationMs / 1_000);
  }

  #begin({ name, mode }: Pick<Policy<never>, 'name' | 'mode'>, store: StoreName): void {
    for (const said of ['allowed', 'denied'] as const) {
      if (mode === 'shadow') this.#decisions.add(0, name, 'allowed', store, said);
      else this.#decisions.add(0, name, said, store);
    }
    this.#near.add(0, name);
    this.#cached.add(0, name);
  }

  #count(decision: Decision, attempt: PolicyAttempt | undefined): void {
    const { policy, outcome } = decision;
    const shadow = shadowOf(decision);
    this.#decisions.add(1, policy, outcome, storeOf(decision), shadow);
    // What takes nothing brings nobody nearer, and this process alone knows only its own share.
    if (outcome !== 'allowed' || shadow === 'denied' || attempt === undefined) return;
    if (decision.cost === 0 || decision.store === 'local') return;
    const { limit, capacity = limit } = attempt.rule.quota;
    if (decision.remaining < (1 - NEAR) * capacity) this.#near.add(1, policy);
  }

  #counter(name: string, unit: string, description: string, tell: Tell): void {
    const instrument = this.meter.createObservableCounter(`rate_limit.${name}`, { unit, description });
    this.#endsOfCounts.push(observe(instrument, tell));
  }

  #sum(name: string, unit: string, description: string, tell: Tell): void {
    const instrument = this.meter.createObservableUpDownCounter(`rate_limit.${name}`, { unit, description });
    this.#ends.push(observe(instrument, tell));
  }
}

/** @returns what ends it */
function observe(instrument: Observable, tell: Tell): () => void {
  instrument.addCallback(tell);
  return () => instrument.removeCallback(tell);
}

type Tell = (result: ObservableResult) => void;
