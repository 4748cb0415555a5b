import { afterEach } from '@jest/globals';
import { type Attributes, metrics } from '@opentelemetry/api';
import {
  AggregationTemporality,
  type Histogram,
  MeterProvider,
  type MetricData,
  MetricReader,
} from '@opentelemetry/sdk-metrics';

/** Collects when it is asked to. */
class Reader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }

  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

export interface Point {
  readonly attributes: Attributes;
  readonly value: number | Histogram;
}

/** What the real SDK has measured. */
export interface Measures {
  /** All that this library tells, by name. */
  read(): Promise<ReadonlyMap<string, MetricData>>;
  /** The values of one metric; none where it is not there. */
  points(name: string): Promise<readonly Point[]>;
  /** One value of one metric: that with just these attributes. */
  value(name: string, attributes?: Attributes): Promise<number | undefined>;
}

const providers: MeterProvider[] = [];

afterEach(async () => {
  metrics.disable();
  await Promise.all(providers.splice(0).map((provider) => provider.shutdown()));
});

/**
 * Begins to measure, until the test has ended: to be called before an application is made.
 *
 * @param onlyNew whether what was told before is left out, and with it what nobody tells any more
 */
export function measure(onlyNew = false): Measures {
  const temporality = onlyNew ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE;
  const reader = new Reader({ aggregationTemporalitySelector: () => temporality });
  const provider = new MeterProvider({ readers: [reader] });
  providers.push(provider);
  if (!metrics.setGlobalMeterProvider(provider)) throw new Error('There is another provider of meters.');
  const read = async () => {
    const { resourceMetrics, errors } = await reader.collect();
    if (errors.length > 0) throw new AggregateError(errors);
    const scopes = resourceMetrics.scopeMetrics.filter(
      ({ scope }) => scope.name === 'nestjs-valkey-rate-limit',
    );
    return new Map(scopes.flatMap((each) => each.metrics.map((metric) => [metric.descriptor.name, metric])));
  };
  const points = async (name: string) => ((await read()).get(name)?.dataPoints ?? []) as Point[];
  return {
    read,
    points,
    value: async (name, attributes = {}) => {
      const found = (await points(name)).find((point) => sorted(point.attributes) === sorted(attributes));
      return found?.value as number | undefined;
    },
  };
}

function sorted(attributes: Attributes): string {
  return JSON.stringify(Object.entries(attributes).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
