import type { TelemetryOptions } from 'nestjs-valkey-rate-limit';

export const telemetry: TelemetryOptions = {
  metrics: true, // through @opentelemetry/api
  traces: true, // events on the span of the request, likewise
  serverTiming: true, // Server-Timing: ratelimit-decision;dur=0.84
  top: 100, // keys of each policy that are kept count of, for limiter.top
  refusals: '1m', // how often the log sums up refusals, or 'off'
  exposeKeys: true, // events, spans and the log may tell who was counted
};
