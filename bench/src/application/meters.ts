import { metrics } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';

/** As an application sets up the SDK, which collects several times in a round. What it has collected goes nowhere. */
export function collectMetrics(): void {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: 500,
    exportTimeoutMillis: 400,
  });
  exporter.export = (_metrics, done) => done({ code: 0 });
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
}
