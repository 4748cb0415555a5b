import type { Duration } from '../../decision/duration.js';
import { type Ask, defineAlgorithm, type Step } from '../algorithm.js';
import { MAX_WINDOW_MS } from '../limits.js';
import { allowedUnits, deniedUnits } from '../units.js';
import lua from './concurrency.lua.js';

/**
 * At most `limit` at once. A place is held as a lease: it is released, or renewed while the work goes on, or ends by
 * itself, so that a process that dies gives its places back. A request of cost c holds c places under one lease, which are
 * renewed and released together.
 *
 * @example
 * { algorithm: 'concurrency', limit: 10, lease: '30s' }
 * { algorithm: 'concurrency', limit: 'adaptive', floor: 5, ceiling: 200, lease: '30s' }
 */
export type ConcurrencyOptions = FixedConcurrencyOptions | AdaptiveConcurrencyOptions;

interface Leased {
  /** How long a place is held that is neither released nor renewed: 1 ms to 3,650 days. */
  lease: Duration;
}

export interface FixedConcurrencyOptions extends Leased {
  /** How many places there are: 0 to 10,000. 0 refuses everything. */
  limit: number;
}

/**
 * How many there are is found out while running, by how long places are held: by requests to routes and by
 * `limiter.schedule`. What `limiter.consume` takes is counted but not measured.
 */
export interface AdaptiveConcurrencyOptions extends Leased {
  /** Every process finds it out for itself, between `floor` and `ceiling`, and all of them count together. */
  limit: 'adaptive';
  /** So many at least, and to begin with: 1 to 10,000. Left out: 5, or `ceiling` where that is lower. */
  floor?: number;
  /** So many at the most: `floor` to 10,000. Left out: 200, or `floor` where that is higher. */
  ceiling?: number;
}

interface ConcurrencyParams {
  readonly limit: number;
  readonly lease: number;
}

interface Place {
  readonly lease: string;
  /** Which of the lease's places it is, from 1. */
  readonly number: number;
  /** When its lease ends, in milliseconds since 1970. */
  readonly ends: number;
}

/** The places that are held, the one that ends first in front. */
type ConcurrencyState = readonly Place[];

/** A thousand held places are about 100 kB in Valkey. */
const HIGHEST_LIMIT = 10_000;

export const concurrency = defineAlgorithm<ConcurrencyOptions, ConcurrencyParams, ConcurrencyState>({
  id: 'c',
  compile: (options) => ({
    // One that is adaptive comes here as a number.
    limit: options.integer('limit', { min: 0, max: HIGHEST_LIMIT }),
    lease: options.duration('lease', { min: 1, max: MAX_WINDOW_MS }),
  }),
  quota: ({ limit }) => ({ limit, windowMs: undefined, unit: 'concurrent-requests' }),
  leaseMs: ({ lease }) => lease,
  args: ({ limit, lease }) => [limit, lease],
  callArgs: (_, { lease = '', renew }) => [lease, renew === true ? 1 : 0],
  readings: 4,
  step,
  allowed: (reading, taken, { limit, lease }) => allowedUnits(reading, taken, limit, lease),
  denied: (reading, cost, { limit }) => deniedUnits(reading, cost, limit),
  lua,
});

function step(
  state: ConcurrencyState = [],
  now: number,
  ask: Ask,
  { limit, lease }: ConcurrencyParams,
): Step<ConcurrencyState> {
  const { cost } = ask;
  const holding = state.filter(({ ends }) => ends > now);
  const held = holding.length;
  // No lease can end later than one that began now: the clock stepped back, or leases were longer.
  const foreign = held > 0 && holding.at(-1)!.ends > now + lease;
  const bounded = foreign
    ? holding.map((place) => ({ ...place, ends: Math.min(place.ends, now + lease) }))
    : holding;
  const ends = (index: number) => bounded[index]!.ends - now;

  const last = held > 0 ? ends(held - 1) : 0;
  // Of nothing, nothing comes back.
  const some = held > 0 && limit > 0;
  const next = some ? ends(Math.max(0, held - limit)) : 0;
  const isOwn = (place: Place) => place.lease === ask.lease;
  const own = ask.renew === true ? holding.filter(isOwn) : [];
  const allowed = ask.renew === true ? own.length > 0 : cost <= 0 || cost <= limit - held;
  const fits = allowed || ask.renew === true || cost > limit ? 0 : ends(held + cost - limit - 1);
  let kept: ConcurrencyState | undefined;
  // A lease is given back whole.
  if (cost < 0) kept = holding.filter((place) => !isOwn(place));
  else if (allowed && cost > 0) {
    const places = ask.renew === true ? own : newPlaces(ask);
    kept = [
      ...bounded.filter((place) => !isOwn(place)),
      ...places.map((place) => ({ ...place, ends: now + lease })),
    ];
  } else if (!allowed && foreign) kept = bounded;
  return {
    allowed,
    reading: [held, next, some ? last : 0, fits],
    state: kept,
    ttlMs: allowed && cost > 0 ? lease : last,
  };
}

function newPlaces({ cost, lease = '' }: Ask): Omit<Place, 'ends'>[] {
  return Array.from({ length: cost }, (_, index) => ({ lease, number: index + 1 }));
}
