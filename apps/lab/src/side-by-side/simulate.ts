import { compileRule, OptionReader, type Rule, type Verdict } from './library.js';
import { type Peak, peakOf } from './peak.js';
import { type Scenario, type ShownAlgorithm, SIDE_BY_SIDE, spanOf } from './scenario.js';
import { type Arrival, arrivals } from './traffic.js';

/** A request, and what became of it. Times are milliseconds from the beginning. */
export interface Request extends Arrival {
  /** Which arrival it is, or comes again for: the same in every run. */
  readonly arrival: number;
  /** 1, or more for one that was refused before and comes again. */
  readonly attempt: number;
  /** A request that waits was allowed, and reaches the application later. */
  readonly outcome: 'allowed' | 'waiting' | 'refused';
  /** When it reaches the application, if it does. */
  readonly reachesAt: number | undefined;
  readonly verdict: Verdict;
}

/** How much is used as of a time, until the next one. */
export interface Level {
  readonly at: number;
  readonly used: number;
}

/** What one algorithm made of the traffic. */
export interface Run {
  readonly algorithm: ShownAlgorithm;
  readonly rule: Rule;
  /** The most that `used` can be. */
  readonly capacity: number;
  /** In the order they came. */
  readonly requests: readonly Request[];
  /** Of each key, by the first client that is counted under it. */
  readonly levels: ReadonlyMap<number, readonly Level[]>;
  readonly allowed: number;
  readonly waiting: number;
  readonly refused: number;
  readonly longestWaitMs: number;
  /** The second, and the window, in which most reached the application. */
  readonly worstSecond: Peak;
  readonly worstWindow: Peak;
}

/** How often the level is looked at, besides at each request. */
const LOOKS_PER_WINDOW = 200;
/** A client that does not wait comes again after this part of a window, */
const IMPATIENT = 1 / 20;
/** and gives up after so many tries. */
export const MOST_ATTEMPTS = 5;

/** Plays the same traffic to the five algorithms, by the library's own steps. */
export function simulate(scenario: Scenario): Run[] {
  return SIDE_BY_SIDE.map((algorithm) => run(algorithm, scenario));
}

/** @throws {RateLimitConfigError} for numbers that the algorithm cannot have */
export function ruleOf(algorithm: ShownAlgorithm, { limit, windowMs, burst }: Scenario): Rule {
  const isBucket = algorithm === 'token-bucket' || algorithm === 'leaky-bucket';
  return compileRule(
    new OptionReader(algorithm, {
      algorithm,
      limit,
      window: windowMs,
      ...(isBucket && burst !== undefined && { burst }),
    }),
  );
}

function run(algorithm: ShownAlgorithm, scenario: Scenario): Run {
  const rule = ruleOf(algorithm, scenario);
  const capacity = rule.quota.capacity ?? rule.quota.limit;
  const keys = new Map<number, Key>();
  const requests: Request[] = [];
  const coming = new Coming(arrivals(scenario));
  const begin = beginOf(scenario);
  const look = scenario.windowMs / LOOKS_PER_WINDOW;
  const span = spanOf(scenario);

  const keyOf = (client: number): Key => {
    const id = scenario.key === 'everyone' ? 0 : client;
    let key = keys.get(id);
    if (key === undefined) keys.set(id, (key = new Key(rule, capacity, begin)));
    return key;
  };
  for (const { client } of coming.rest) keyOf(client);

  for (let looks = 0; looks * look <= span; looks += 1) {
    const at = Math.floor(looks * look);
    for (let next = coming.until(at); next !== undefined; next = coming.until(at)) {
      const request = answer(next, keyOf(next.client).take(next.at));
      requests.push(request);
      const again = comesAgain(request, scenario);
      if (again !== undefined && again < span) coming.add({ ...next, at: again, attempt: next.attempt + 1 });
    }
    for (const key of keys.values()) key.look(at);
  }

  const reached = requests.flatMap(({ reachesAt }) => (reachesAt === undefined ? [] : [reachesAt]));
  const count = (outcome: Request['outcome']) => requests.filter((each) => each.outcome === outcome).length;
  return {
    algorithm,
    rule,
    capacity,
    requests,
    levels: new Map([...keys].map(([client, { levels }]) => [client, levels])),
    allowed: count('allowed'),
    waiting: count('waiting'),
    refused: count('refused'),
    longestWaitMs: Math.max(0, ...requests.map(({ at, reachesAt = at }) => reachesAt - at)),
    worstSecond: peakOf(reached, 1_000),
    worstWindow: peakOf(reached, scenario.windowMs),
  };
}

/** The steps take times since 1970. This is one at which a window of the clock begins. */
export function beginOf({ windowMs }: Scenario): number {
  return Math.ceil(1_000_000_000_000 / windowMs) * windowMs;
}

/** The state of one key, and how it changed: what a store keeps, for one algorithm. */
class Key {
  readonly levels: Level[] = [];
  #state: unknown;

  constructor(
    private readonly rule: Rule,
    private readonly capacity: number,
    private readonly begin: number,
  ) {}

  take(at: number): Verdict {
    this.look(at);
    const verdict = this.#step(at, 1);
    this.look(at);
    return verdict;
  }

  look(at: number): void {
    const used = this.capacity - this.#step(at, 0).remaining;
    if (this.levels.at(-1)?.used !== used) this.levels.push({ at, used });
  }

  #step(at: number, cost: number): Verdict {
    const { allowed, reading, state } = this.rule.step(this.#state, this.begin + at, { cost });
    if (state !== undefined) this.#state = state;
    return allowed ? this.rule.allowed(reading, cost) : this.rule.denied(reading, cost);
  }
}

type Attempt = Pick<Request, 'at' | 'client' | 'arrival' | 'attempt'>;

/** What is still to come, in order; at the same time, whoever was there first. */
class Coming {
  readonly rest: Attempt[];

  constructor(first: readonly Arrival[]) {
    this.rest = first.map((each, arrival) => ({ ...each, arrival, attempt: 1 }));
  }

  /** Takes the next one that comes until then. */
  until(at: number): Attempt | undefined {
    return this.rest[0] !== undefined && this.rest[0].at <= at ? this.rest.shift() : undefined;
  }

  add(attempt: Attempt): void {
    const later = this.rest.findIndex(({ at }) => at > attempt.at);
    this.rest.splice(later === -1 ? this.rest.length : later, 0, attempt);
  }
}

function answer(attempt: Attempt, verdict: Verdict): Request {
  if (verdict.outcome === 'denied') return { ...attempt, outcome: 'refused', reachesAt: undefined, verdict };
  const outcome = verdict.delayMs > 0 ? 'waiting' : 'allowed';
  return { ...attempt, outcome, reachesAt: attempt.at + verdict.delayMs, verdict };
}

function comesAgain({ at, attempt, verdict }: Request, { retries, windowMs }: Scenario): number | undefined {
  if (verdict.outcome !== 'denied' || retries === 'none' || attempt >= MOST_ATTEMPTS) return undefined;
  if (retries === 'impatient') return at + Math.ceil(windowMs * IMPATIENT);
  return verdict.retryAfterMs === undefined ? undefined : at + verdict.retryAfterMs;
}
