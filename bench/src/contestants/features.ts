import { Controller, Get } from '@nestjs/common';
import { key, Priority, RateLimit, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { product } from '../application/application.js';

/** Handlers that use what the one that is measured does not. */
@Controller('features')
@Priority('background')
export class FeaturesController {
  @Get('turns')
  @RateLimit({
    algorithm: 'leaky-bucket',
    limit: 10,
    window: '1s',
    burst: 10,
    maxWait: '1s',
    maxWaiting: 100,
    key: key.global(),
  })
  turns() {
    return product();
  }

  @Get('places')
  @RateLimit({ algorithm: 'concurrency', limit: 10, lease: '30s', key: key.global() })
  places() {
    return product();
  }

  @Get('adaptive')
  @RateLimit({ algorithm: 'concurrency', limit: 'adaptive', lease: '30s', key: key.global() })
  adaptive() {
    return product();
  }

  @Get('settled')
  @RateLimit({ algorithm: 'token-bucket', limit: 100, window: '1m', settle: 'on-success-refund' })
  settled() {
    return product();
  }

  @Get('penalty')
  @Priority('critical')
  @RateLimit({ algorithm: 'sliding-log', limit: 5, window: '1m', penalty: { after: 3, block: '15m' } })
  penalty() {
    return product();
  }
}

/** It looks at every request, and never finds the event loop so late: what is shed would not be measured. */
export const SHED: RateLimitModuleOptions['shed'] = { worker: { delay: '10s' } };
