import type { AlgorithmName, RateLimitPolicy } from 'nestjs-valkey-rate-limit';
import { BASE } from '../limiter.js';
import { ratePolicies, type RateAlgorithm } from '../policies.js';
import { edge, evenly, type Traffic } from '../traffic.js';

/** How long work holds its place; `dies` is work that never gives it back. */
export type Hold = number | 'dies';

/** Times are milliseconds after `start`. */
export interface Axis {
  readonly from: number;
  readonly to: number;
  /** From one labelled tick to the next. */
  readonly tick: number;
  /** What a tick's number counts: `unit` milliseconds. */
  readonly unit: number;
  readonly name: string;
}

export interface Edge {
  readonly at: number;
  /** What begins there. */
  readonly label?: string;
}

/** What is drawn: a policy and the traffic that it gets. */
export interface Scene {
  readonly algorithm: AlgorithmName;
  readonly says: string;
  readonly policy: RateLimitPolicy;
  readonly limit: number;
  /** Milliseconds since 1970. */
  readonly start: number;
  readonly axis: Axis;
  readonly edges: readonly Edge[];
  /** From one look at the level to the next. */
  readonly lookEvery: number;
  readonly requests: Traffic;
  /** Of each request, where requests hold places. */
  readonly holds?: readonly Hold[];
  readonly leaseMs?: number;
}

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;
const LIMIT = 10;

/** Ten on each side of an edge, one a second, fifteen at once, one a second. */
const requests: Traffic = [
  ...edge,
  ...evenly(13_000, 7, SECOND),
  ...evenly(22_000, 15, 33),
  ...evenly(32_000, 5, SECOND),
];

const says: Record<RateAlgorithm, string> = {
  'fixed-window': '10 in each window of 10 s: at the edge of two windows, twenty pass at once',
  'sliding-log': '10 in any 10 s, exactly: each request counts until it is 10 s old',
  'sliding-counter': '10 in about any 10 s: the count of the window before fades as this one goes on',
  'token-bucket': '10 at once, and one more every second',
  'leaky-bucket': '10 in the queue, and one a second comes out of it',
};

const WINDOWED: ReadonlySet<string> = new Set<RateAlgorithm>(['fixed-window', 'sliding-counter']);

const rateScenes: Scene[] = Object.entries(ratePolicies(LIMIT, '10s')).map(([name, policy]) => ({
  algorithm: name as RateAlgorithm,
  says: says[name as RateAlgorithm],
  policy,
  limit: LIMIT,
  start: BASE,
  axis: { from: 8_000, to: 40_000, tick: 2_000, unit: SECOND, name: 'seconds' },
  edges: WINDOWED.has(name) ? evenly(10_000, 3, 10_000).map((at) => ({ at })) : [],
  lookEvery: 50,
  requests,
}));

/** Three days in Berlin, where 29 March 2026 has 23 hours. */
const quotaScene: Scene = {
  algorithm: 'quota',
  says: '10 a day by the calendar of Berlin, where the clocks went forward on 29 March 2026',
  policy: { algorithm: 'quota', limit: LIMIT, period: 'day', timeZone: 'Europe/Berlin' },
  limit: LIMIT,
  start: Date.UTC(2026, 2, 27, 23),
  axis: { from: 0, to: 71 * HOUR, tick: 6 * HOUR, unit: HOUR, name: 'hours' },
  edges: [
    { at: 0, label: 'Saturday, 24 hours' },
    { at: 24 * HOUR, label: 'Sunday, 23 hours' },
    { at: 47 * HOUR, label: 'Monday, 24 hours' },
  ],
  lookEvery: 5 * MINUTE,
  requests: evenly(30 * MINUTE, 47, 90 * MINUTE),
};

const LEASE = 8_000;
const HOLDS: readonly Hold[] = [3_500, 6_000, 'dies', 2_500, 4_500, 1_500];

const workers = evenly(9_000, 19, SECOND);

const concurrencyScene: Scene = {
  algorithm: 'concurrency',
  says: '3 at once: a place comes back when the work ends, or after 8 s where it never does',
  policy: { algorithm: 'concurrency', limit: 3, lease: '8s' },
  limit: 3,
  start: BASE,
  axis: { from: 8_000, to: 36_000, tick: 2_000, unit: SECOND, name: 'seconds' },
  edges: [],
  lookEvery: 50,
  requests: workers,
  holds: workers.map((_, index) => HOLDS[index % HOLDS.length]!),
  leaseMs: LEASE,
};

export const scenes: readonly Scene[] = [...rateScenes, quotaScene, concurrencyScene];
