import { metrics } from '@opentelemetry/api';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';

/** Without a server of its own: /metrics asks it. */
const exporter = new PrometheusExporter({ preventServerStart: true });
const serializer = new PrometheusSerializer();

// Before the application is made: what is measured before has nowhere to go.
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }));

/** All that is measured, as Prometheus reads it. */
export async function collect(): Promise<string> {
  const { resourceMetrics } = await exporter.collect();
  return serializer.serialize(resourceMetrics);
}
