import type { Engine } from '../limiter/engine.js';
import { Top } from '../limiter/top/top-keys.js';
import { Metrics, type MetricsOptions } from './metrics.js';
import { loadOpenTelemetry, SCOPE } from './open-telemetry.js';
import { Refusals } from './refusals.js';
import type { Telemetry } from './telemetry-options.js';
import { trace } from './traces.js';

export interface WatchersOptions extends Telemetry, Pick<MetricsOptions, 'policies' | 'shedLevel'> {
  readonly log: (line: string) => void;
}

/** All that watch what an engine decides. */
export class Watchers {
  private constructor(
    private readonly metrics: Metrics | undefined,
    readonly refusals: Refusals | undefined,
    readonly top: Top | undefined,
  ) {}

  /** @throws {RateLimitConfigError} (rejects) when a package is missing that they need */
  static async begin(engine: Engine, options: WatchersOptions): Promise<Watchers> {
    const { metrics, traces, exposeKeys, top, refusalsMs, log } = options;
    const api = metrics || traces ? await loadOpenTelemetry() : undefined;
    const measured = metrics ? new Metrics(api!.metrics.getMeter(SCOPE), { ...options, engine }) : undefined;
    const counted = top === undefined ? undefined : new Top({ size: top, table: engine.sketches });
    for (const each of [measured, counted]) {
      if (each !== undefined) engine.decided$.subscribe((batch) => each.add(batch));
    }
    if (traces) engine.decided$.subscribe((batch) => trace(api!.trace, batch, exposeKeys));
    const refusals =
      refusalsMs === undefined
        ? undefined
        : new Refusals({ everyMs: refusalsMs, exposesKeys: exposeKeys, log });
    return new Watchers(measured, refusals, counted);
  }

  /** What listens to the engine ends with it. */
  close(): void {
    this.metrics?.close();
    this.refusals?.close();
    this.top?.close();
  }
}
