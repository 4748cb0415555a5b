import type * as OpenTelemetry from '@opentelemetry/api';
import { RateLimitConfigError } from '../decision/config-error.js';

/** Under which name an application finds what this library measures. */
export const SCOPE = 'nestjs-valkey-rate-limit';

/** Loaded only by those who use it. */
export async function loadOpenTelemetry(): Promise<typeof OpenTelemetry> {
  try {
    return await import('@opentelemetry/api');
  } catch (cause) {
    throw new RateLimitConfigError(
      'NO_OPEN_TELEMETRY',
      'RateLimitModule telemetry',
      'metrics and traces need the package @opentelemetry/api. Install it: npm install @opentelemetry/api ' +
        `(${(cause as Error).message})`,
    );
  }
}
