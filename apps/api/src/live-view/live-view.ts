import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import {
  type DecisionEvent,
  type PolicyDescription,
  type PolicyName,
  RateLimiter,
  RateLimitHealth,
  type TopKey,
} from 'nestjs-valkey-rate-limit';
import {
  defer,
  exhaustMap,
  finalize,
  map,
  type Observable,
  ReplaySubject,
  share,
  startWith,
  Subject,
  Subscription,
  takeUntil,
  timer,
  withLatestFrom,
} from 'rxjs';
import { policies } from '../rate-limits.js';
import { LastMinute } from './last-minute.js';
import {
  COUNTED,
  type Counted,
  type LiveSnapshot,
  type OutcomeCounts,
  type RouteRefusals,
} from './live-snapshot.js';
import { type Refusal, Refusals } from './refusals.js';

type Top = ReadonlyMap<string, readonly TopKey[] | 'unavailable'>;

const SNAPSHOT_MS = 1_000;
/** Valkey is asked about each policy. */
const TOP_MS = 5_000;
const TOP_KEYS = 5;
const NAMES = Object.keys(policies) as PolicyName[];

/** How this instance is, each second, for as many as look. Nothing is counted, and nobody is asked, while nobody does. */
@Injectable()
export class LiveView implements BeforeApplicationShutdown {
  readonly #closing = new Subject<void>();
  readonly snapshots$: Observable<LiveSnapshot>;

  constructor(
    private readonly limiter: RateLimiter,
    private readonly health: RateLimitHealth,
    private readonly refusals: Refusals,
  ) {
    this.snapshots$ = defer(() => this.#watch()).pipe(
      // Whoever comes later sees the last one at once.
      share({ connector: () => new ReplaySubject(1) }),
      takeUntil(this.#closing),
    );
  }

  /** An open stream would keep the server from closing. */
  beforeApplicationShutdown(): void {
    this.#closing.next();
  }

  #watch(): Observable<LiveSnapshot> {
    const since = Date.now();
    const decisions = new LastMinute<`${PolicyName} ${Counted}`>();
    const refusals = new LastMinute<`${number} ${string}`>();
    const listening = new Subscription();
    listening.add(
      this.limiter.decisions$.subscribe((event) =>
        decisions.add(`${event.policy as PolicyName} ${countedAs(event)}`),
      ),
    );
    listening.add(
      this.refusals.refused$.subscribe(({ status, route }: Refusal) => refusals.add(`${status} ${route}`)),
    );
    const described = this.#descriptions();
    const top$ = timer(0, TOP_MS).pipe(
      exhaustMap(() => this.#top()),
      startWith<Top>(new Map()),
    );
    return timer(0, SNAPSHOT_MS).pipe(
      withLatestFrom(top$),
      map(([, top]) => {
        decisions.tick();
        refusals.tick();
        return {
          at: Date.now(),
          since,
          instance: { pid: process.pid, uptimeSeconds: Math.floor(process.uptime()) },
          store: this.health.check('store').store,
          policies: NAMES.map((policy) => ({
            policy,
            ...(described.has(policy) && { description: described.get(policy)! }),
            lastSecond: counts((counted) => decisions.lastSecond(`${policy} ${counted}`)),
            lastMinute: counts((counted) => decisions.lastMinute(`${policy} ${counted}`)),
            top: top.get(policy) ?? [],
          })),
          routes: routesOf(refusals),
        };
      }),
      finalize(() => listening.unsubscribe()),
    );
  }

  #descriptions(): ReadonlyMap<string, PolicyDescription> {
    const descriptions = this.limiter.describe().flatMap((route) => route.policies);
    return new Map(descriptions.map((description) => [description.policy, description]));
  }

  async #top(): Promise<Top> {
    const top = new Map<string, readonly TopKey[] | 'unavailable'>();
    for (const policy of NAMES) {
      const keys = await this.limiter.top(policy, TOP_KEYS).catch(() => undefined);
      top.set(policy, keys?.keys ?? 'unavailable');
    }
    return top;
  }
}

function countedAs(event: DecisionEvent): Counted {
  const isShadow = event.outcome === 'allowed' && event.shadow?.outcome === 'denied';
  return isShadow ? 'shadow-denied' : event.outcome;
}

function counts(of: (counted: Counted) => number): OutcomeCounts {
  return Object.fromEntries(COUNTED.map((counted) => [counted, of(counted)])) as OutcomeCounts;
}

function routesOf(refusals: LastMinute<`${number} ${string}`>): RouteRefusals[] {
  return refusals
    .names()
    .map((name) => {
      const [status, ...route] = name.split(' ');
      return { route: route.join(' '), status: Number(status), lastMinute: refusals.lastMinute(name) };
    })
    .filter(({ lastMinute }) => lastMinute > 0)
    .toSorted((one, other) => other.lastMinute - one.lastMinute);
}
