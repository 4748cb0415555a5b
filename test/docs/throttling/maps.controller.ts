import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, Get, Param } from '@nestjs/common';
import { key, RateLimit } from 'nestjs-valkey-rate-limit';

@Controller()
export class MapsController {
  @Get('maps/:place')
  @RateLimit({
    name: 'maps',
    algorithm: 'leaky-bucket',
    limit: 5, // five a second, evenly, whoever asks for them
    window: '1s',
    burst: 50,
    maxWait: '800ms', // nobody waits longer
    maxWaiting: 100, // in one instance
    key: key.global(),
  })
  draw(@Param('place') place: string) {
    return `a map of ${place}`; // when its turn has come
  }

  @Get('reports/:year')
  @RateLimit({ name: 'reports', algorithm: 'concurrency', limit: 2, lease: '10s', key: key.global() })
  async report(@Param('year') year: string) {
    await sleep(300); // two at a time, however long that is
    return `a report on ${year}`;
  }
}
