import type { AlgorithmName } from 'nestjs-valkey-rate-limit';
import { openLimiter } from '../limiter.js';
import { runOn, type RunOn, type ValkeyPlace } from '../place.js';
import { ALGORITHMS, hourlyPolicies } from '../policies.js';
import type { Progress } from '../progress.js';
import { table } from '../table.js';
import { readThenWrite } from './read-then-write.js';
import { type Racers, startRacers } from './racers.js';

export interface Heat {
  readonly how: AlgorithmName | 'read-then-write';
  readonly requests: number;
  readonly processes: number;
  readonly limit: number;
  readonly allowed: number;
}

export interface Race {
  readonly command: 'race';
  readonly heats: readonly Heat[];
  readonly runOn: RunOn;
}

const SMALL = { requests: 50, processes: 1, limit: 10 };
const LARGE = { requests: 2_000, processes: 4, limit: 100 };

/** How many of many requests at once pass: by hand, by the script, and by the script from several processes. */
export async function race(place: ValkeyPlace, progress: Progress): Promise<Race> {
  const heats: Heat[] = [];
  progress.say(`read-then-write: ${SMALL.requests} at once`);
  const passed = await readThenWrite(place.client, `${place.prefix}by-hand`, SMALL);
  heats.push({ how: 'read-then-write', ...SMALL, allowed: passed });
  for (const algorithm of ALGORITHMS) {
    progress.say(`${algorithm}: ${SMALL.requests} at once`);
    heats.push({ how: algorithm, ...SMALL, allowed: await inThisProcess(place, algorithm) });
  }
  progress.say(`starting ${LARGE.processes} processes`);
  const racers = await startRacers(place, LARGE);
  try {
    for (const algorithm of ALGORITHMS) {
      progress.say(`${algorithm}: ${LARGE.requests} from ${LARGE.processes} processes`);
      heats.push({ how: algorithm, ...LARGE, allowed: await inAll(racers, algorithm) });
    }
  } finally {
    racers.stop();
  }
  return { command: 'race', heats, runOn: runOn(place) };
}

async function inThisProcess(place: ValkeyPlace, algorithm: AlgorithmName): Promise<number> {
  const limiter = await openLimiter(place, hourlyPolicies(SMALL.limit));
  const decisions = await Promise.all(
    Array.from({ length: SMALL.requests }, () => limiter.consume(algorithm, 'small', 0)),
  );
  return decisions.filter(({ outcome }) => outcome === 'allowed').length;
}

function inAll(racers: Racers, algorithm: AlgorithmName): Promise<number> {
  return racers.run(algorithm, LARGE.requests / LARGE.processes);
}

export function raceTable({ heats, runOn: ranOn }: Race): string {
  return table(
    ['how', 'requests at once', 'processes', 'limit', 'let through'],
    heats.map(({ how, ...numbers }) => [
      how,
      ...[numbers.requests, numbers.processes, numbers.limit, numbers.allowed].map((number) =>
        number.toLocaleString('en-US'),
      ),
    ]),
    ranOn,
  );
}
