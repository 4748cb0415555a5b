import {
  createRateLimiter,
  type PolicyName,
  type RateLimitPolicy,
  ScheduleError,
} from 'nestjs-valkey-rate-limit';
import { BASE, silently } from '../limiter.js';
import { runOn, type Place, type RunOn } from '../place.js';
import type { Progress } from '../progress.js';
import { table } from '../table.js';
import { Backend } from './backend.js';
import { nextIn, seeded } from './random.js';

/** A stretch of the simulation. */
export interface Stretch {
  /** In seconds, from and to. */
  readonly from: number;
  readonly to: number;
  /** How many at once the backend works on. */
  readonly capacity: number;
  /** The limit at the end. */
  readonly limit: number;
  /** How long work took on average, in milliseconds. */
  readonly latencyMs: number;
  readonly donePerSecond: number;
  readonly refusedPerSecond: number;
}

export interface Adaptation {
  readonly command: 'adaptive';
  readonly policy: RateLimitPolicy;
  readonly requestsPerSecond: number;
  readonly workMs: number;
  readonly stretches: readonly Stretch[];
  readonly runOn: RunOn;
}

export interface Phase {
  readonly seconds: number;
  readonly capacity: number;
}

const NAME = 'backend';
const WORK_MS = 50;
/** Half as much again as 20 at once of 50 ms each can do. */
const REQUESTS_PER_SECOND = 600;
const STRETCH_MS = 5_000;
const policy = {
  algorithm: 'concurrency',
  limit: 'adaptive',
  floor: 5,
  ceiling: 200,
  lease: '30s',
} satisfies RateLimitPolicy;

/** Half of the backend is lost for a while. */
const PHASES: readonly Phase[] = [
  { seconds: 60, capacity: 20 },
  { seconds: 40, capacity: 10 },
  { seconds: 50, capacity: 20 },
];

/** A backend whose capacity nobody knows, under more load than it can bear: where does the limit go? */
export async function adaptive(
  place: Place,
  progress: Progress,
  phases: readonly Phase[] = PHASES,
): Promise<Adaptation> {
  const stretches = await simulate(phases, (seconds) => progress.say(`${seconds} s`));
  const numbers = { requestsPerSecond: REQUESTS_PER_SECOND, workMs: WORK_MS };
  return { command: 'adaptive', policy, ...numbers, stretches, runOn: runOn(place) };
}

async function simulate(phases: readonly Phase[], say: (seconds: number) => void): Promise<Stretch[]> {
  let now = BASE;
  const limiter = await silently(() => createRateLimiter({ policies: { [NAME]: policy }, clock: () => now }));
  const random = seeded(1);
  const backend = new Backend(0, WORK_MS, random);
  /** Whether it was let through, and given to the backend. */
  const request = () =>
    new Promise<boolean>((resolve, reject) => {
      const task = () =>
        new Promise<void>((end) => {
          backend.accept(now, async () => {
            end();
            await run;
          });
          resolve(true);
        });
      const run = limiter
        .schedule(NAME as PolicyName, { key: 'all', maxWait: 0 }, task)
        .catch((error: unknown) => {
          if (error instanceof ScheduleError && error.reason === 'max-wait') resolve(false);
          else reject(error as Error);
        });
    });

  const stretches: Stretch[] = [];
  let came = nextIn(random, REQUESTS_PER_SECOND / 1_000);
  for (const { seconds, capacity } of phases) {
    backend.capacity = capacity;
    for (let end = now + seconds * 1_000; now < end;) {
      const from = now - BASE;
      const took: number[] = [];
      let refused = 0;
      for (const until = now + STRETCH_MS; now < until; now += 1) {
        took.push(...(await backend.advance(now)));
        for (; came <= now - BASE; came += nextIn(random, REQUESTS_PER_SECOND / 1_000)) {
          if (!(await request())) refused += 1;
        }
      }
      const [to, perSecond] = [now - BASE, STRETCH_MS / 1_000];
      const decision = await limiter.peek(NAME as PolicyName, { key: 'all' });
      stretches.push({
        from: from / 1_000,
        to: to / 1_000,
        capacity,
        limit: 'limit' in decision ? decision.limit : 0,
        latencyMs: Math.round(took.reduce((sum, each) => sum + each, 0) / took.length),
        donePerSecond: Math.round(took.length / perSecond),
        refusedPerSecond: Math.round(refused / perSecond),
      });
      say(to / 1_000);
    }
  }
  await limiter.close();
  return stretches;
}

export function adaptiveTable({ stretches, runOn: ranOn }: Adaptation): string {
  return table(
    ['seconds', 'backend works on', 'limit', '', 'latency', 'done a second', 'refused a second'],
    stretches.map(({ from, to, capacity, limit, latencyMs, donePerSecond, refusedPerSecond }) => [
      `${from} to ${to}`,
      String(capacity),
      String(limit),
      '#'.repeat(limit),
      `${latencyMs} ms`,
      String(donePerSecond),
      String(refusedPerSecond),
    ]),
    ranOn,
  );
}
