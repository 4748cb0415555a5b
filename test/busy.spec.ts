import { describe, expect, test } from '@jest/globals';
import { Controller, Get, Inject, Injectable } from '@nestjs/common';
import { RateLimiter } from 'nestjs-valkey-rate-limit';
import { startApp } from './support/app.js';
import { Limit, little, type LooseLimiter } from './support/little.js';
import { ownValkey } from './support/valkey.js';

const policies = {
  closed: { algorithm: 'fixed-window', limit: 1_000, window: '3650d', onStoreFailure: 'closed' },
} as const;

/** Keeps this process from doing anything else. */
function stall(milliseconds: number): void {
  const end = Date.now() + milliseconds;
  while (Date.now() < end);
}

@Injectable()
class Service {
  constructor(@Inject(RateLimiter) readonly limiter: LooseLimiter) {}
}

@Controller()
class Busy {
  @Get()
  @Limit('closed')
  list(): string {
    return '';
  }
}

/*
 * The answer lies in the socket while the process is busy with something else: a large JSON, a garbage collection, a
 * neighbour on the same processor. Nothing is wrong with Valkey, and the attempt has been counted there.
 */
describe('a process that was busy for longer than the deadline', () => {
  test.each([70, 200])('by %d ms takes an answer that has arrived in the meantime', async (busyMs) => {
    const { url } = await ownValkey();
    const limits = { valkey: url, policies, deadline: '50ms' };
    const app = await startApp(little({ limits, providers: [Service], controllers: [Busy] }), 'fastify');
    const { limiter } = app.app.get(Service, { strict: false });
    for (let count = 0; count < 5; count += 1) await limiter.consume('closed', { key: 'warm' });

    const outcomes: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      const pending = limiter.consume('closed', { key: 'ada' });
      stall(busyMs);
      outcomes.push((await pending).outcome);
    }
    expect(outcomes).toEqual(Array.from({ length: 5 }, () => 'allowed'));
  });
});
