import { openLimiter, type Counted, type LabLimiter } from '../limiter.js';
import type { Place } from '../place.js';
import type { Scene } from './scenes.js';

/** The level as of a time, until the next one. */
export interface Level {
  readonly at: number;
  readonly used: number;
}

export interface Seen {
  readonly at: number;
  readonly allowed: boolean;
  /** When it reaches the application, if it does. */
  readonly reachesAt: number;
}

/** A place that is held. */
export interface Held {
  readonly from: number;
  readonly to: number;
  /** It was not given back: the lease ended. */
  readonly died: boolean;
}

/** What the library decided. */
export interface Observation {
  readonly levels: readonly Level[];
  readonly requests: readonly Seen[];
  readonly held: readonly Held[];
}

const KEY = 'client';

/** Plays a scene, and looks at the level all the time. */
export async function observe(place: Place, scene: Scene): Promise<Observation> {
  const policy = `picture-${scene.algorithm}`;
  const limiter = await openLimiter(place, { [policy]: scene.policy }, scene.start);
  const levels: Level[] = [];
  const requests: Seen[] = [];
  const held: Held[] = [];
  const releases = new Map<number, string[]>();
  const look = (at: number, { limit, remaining }: Counted) => {
    const used = limit - remaining;
    if (levels.at(-1)?.used !== used) levels.push({ at, used });
  };

  let index = 0;
  for (const at of moments(scene)) {
    await releaseAll(limiter, policy, at, releases.get(at) ?? []);
    look(at, await limiter.peek(policy, KEY, at));
    while (scene.requests[index] === at) {
      const decision = await limiter.consume(policy, KEY, at);
      const allowed = decision.outcome === 'allowed';
      requests.push({ at, allowed, reachesAt: at + (allowed ? decision.delayMs : 0) });
      look(at, decision);
      const hold = scene.holds?.[index];
      if (allowed && hold !== undefined) {
        const to = at + (hold === 'dies' ? scene.leaseMs! : hold);
        held.push({ from: at, to, died: hold === 'dies' });
        if (hold !== 'dies') releases.set(to, [...(releases.get(to) ?? []), decision.lease!]);
      }
      index += 1;
    }
  }
  return { levels, requests, held };
}

/** Whenever something may happen or is looked at, each once and in order. */
function moments({ axis, lookEvery, requests, holds = [] }: Scene): number[] {
  const all = new Set(requests);
  for (let at = axis.from; at < axis.to; at += lookEvery) all.add(at);
  for (const [index, hold] of holds.entries()) if (hold !== 'dies') all.add(requests[index]! + hold);
  return [...all].toSorted((a, b) => a - b);
}

async function releaseAll(
  limiter: LabLimiter,
  policy: string,
  at: number,
  leases: readonly string[],
): Promise<void> {
  for (const lease of leases) await limiter.release(policy, KEY, at, lease);
}
