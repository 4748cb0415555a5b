import { openLimiter, type LabLimiter } from './limiter.js';
import { runOn, type Place, type RunOn } from './place.js';
import { RATE_ALGORITHMS, type RateAlgorithm, ratePolicies } from './policies.js';
import type { Progress } from './progress.js';
import { table } from './table.js';
import { burst, edge, steady, type Traffic } from './traffic.js';

export interface Outcome {
  readonly allowed: number;
  readonly requests: number;
  /** The longest that an allowed request waited for its turn. */
  readonly longestWaitMs: number;
  /** The most requests that reach the application in any second, both of its ends included. */
  readonly mostInOneSecond: number;
}

const TRAFFIC = { edge, steady, burst };
type TrafficName = keyof typeof TRAFFIC;
const NAMES = Object.keys(TRAFFIC) as TrafficName[];

export interface Comparison {
  readonly command: 'compare';
  readonly limit: number;
  readonly window: '10s';
  readonly traffic: Record<TrafficName, Record<RateAlgorithm, Outcome>>;
  readonly runOn: RunOn;
}

const LIMIT = 10;
const WINDOW = '10s';

/** The same traffic through every algorithm. */
export async function compare(place: Place, progress: Progress): Promise<Comparison> {
  const limiter = await openLimiter(place, ratePolicies(LIMIT, WINDOW));
  const traffic = {} as Record<TrafficName, Record<RateAlgorithm, Outcome>>;
  for (const name of NAMES) {
    const outcomes = {} as Record<RateAlgorithm, Outcome>;
    for (const algorithm of RATE_ALGORITHMS) {
      progress.say(`${name}: ${algorithm}`);
      outcomes[algorithm] = await replay(limiter, algorithm, name, TRAFFIC[name]);
    }
    traffic[name] = outcomes;
  }
  return { command: 'compare', limit: LIMIT, window: WINDOW, traffic, runOn: runOn(place) };
}

async function replay(limiter: LabLimiter, policy: string, key: string, traffic: Traffic): Promise<Outcome> {
  const waits: number[] = [];
  const arrivals: number[] = [];
  for (const at of traffic) {
    const decision = await limiter.consume(policy, key, at);
    if (decision.outcome === 'denied') continue;
    waits.push(decision.delayMs);
    arrivals.push(at + decision.delayMs);
  }
  return {
    allowed: arrivals.length,
    requests: traffic.length,
    longestWaitMs: Math.max(0, ...waits),
    mostInOneSecond: mostWithin(1_000, arrivals),
  };
}

/** The fullest closed interval of a length begins at one of the times. */
export function mostWithin(length: number, times: readonly number[]): number {
  const counts = times.map((from) => times.filter((time) => time >= from && time <= from + length).length);
  return Math.max(0, ...counts);
}

export function comparisonTable({ traffic, runOn: ranOn }: Comparison): string {
  const rows = NAMES.map((name) => [
    name,
    ...RATE_ALGORITHMS.map((algorithm) => {
      const { allowed, requests } = traffic[name][algorithm];
      return `${allowed}/${requests}`;
    }),
  ]);
  const waits = NAMES.map((name) => `${name} ${seconds(traffic[name]['leaky-bucket'].longestWaitMs)}`);
  const peaks = RATE_ALGORITHMS.map((algorithm) => String(traffic.edge[algorithm].mostInOneSecond));
  return table(
    ['traffic', ...RATE_ALGORITHMS],
    [
      ...rows,
      ["leaky-bucket's longest wait", ...waits],
      ['most requests that reach the application in any 1 s of edge', ...peaks],
    ],
    ranOn,
  );
}

function seconds(ms: number): string {
  return `${(Math.round(ms / 100) / 10).toFixed(1)} s`;
}
