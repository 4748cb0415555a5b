import { afterEach, describe, expect, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { createRateLimiter, type DecisionEvent, key, RateLimiter } from 'nestjs-valkey-rate-limit';
import { context, trace } from '@opentelemetry/api';
import { until } from '../../tools/until.js';
import { adapters } from '../support/app.js';
import { Limit, LONG, startLittle, statuses } from '../support/little.js';
import { measure } from './support/measures.js';
import { record } from './support/spans.js';

const releases: (() => void)[] = [];
afterEach(() => {
  for (const release of releases.splice(0)) release();
});

@Controller()
class Routes {
  @Get('queue')
  @Limit('queue')
  queue(): string {
    return '';
  }

  @Get('both')
  @Limit('roomy', 'tight')
  both(): string {
    return '';
  }
}

const policies = {
  queue: {
    algorithm: 'leaky-bucket',
    limit: 1,
    window: '2s',
    burst: 5,
    maxWaiting: 1,
    key: key.header('x-client'),
  },
  roomy: { algorithm: 'fixed-window', limit: 10, window: LONG, key: key.global() },
  tight: { algorithm: 'fixed-window', limit: 9, window: LONG, key: key.global() },
} as const;

const as = (client: string): RequestInit => ({ headers: { 'x-client': client } });

describe.each(adapters)('what becomes of requests late, on %s,', (adapter) => {
  test('is told of those that find too many in line, and not of those that leave it', async () => {
    const measures = measure();
    const app = await startLittle(adapter, { policies, telemetry: { metrics: true, exposeKeys: true } }, [
      Routes,
    ]);
    const limiter = app.app.get(RateLimiter);
    const told: DecisionEvent[] = [];
    limiter.decisions$.subscribe((event) => void told.push(event));
    expect((await app.fetch('/queue', as('ada'))).status).toBe(200);
    const leaving = new AbortController();
    const left = app.fetch('/queue', { ...as('ada'), signal: leaving.signal }).catch(() => 'left');
    await until('it waits', () => told.length === 2);
    expect((await app.fetch('/queue', as('ada'))).status).toBe(429);
    leaving.abort();
    expect(await left).toBe('left');
    await until('nobody waits', async () => (await measures.value('rate_limit.requests.waiting')) === 0);
    const outcomes = told.filter((event) => event.key === 'ada').map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['allowed', 'allowed', 'allowed', 'denied']);
  });

  test('brings nobody near a limit where another policy refuses', async () => {
    const measures = measure();
    const app = await startLittle(
      adapter,
      { policies, refuseIn: 'guard', denyCache: 'off', telemetry: { metrics: true } },
      [Routes],
    );
    expect(new Set(await statuses(app, '/both', 9))).toEqual(new Set([200]));
    const near = () => measures.value('rate_limit.near_limit', { 'rate_limit.policy': 'roomy' });
    // The ninth leaves one of ten.
    expect(await near()).toBe(1);
    expect(new Set(await statuses(app, '/both', 5))).toEqual(new Set([429]));
    expect(await near()).toBe(1);
  });
});

test('a task that asks until it has a place is told of once', async () => {
  const places = { algorithm: 'concurrency', limit: 1, lease: '30s' } as const;
  const limiter = await createRateLimiter({ policies: { places }, telemetry: { top: 10 } });
  try {
    const told: DecisionEvent[] = [];
    limiter.decisions$.subscribe((event) => void told.push(event));
    const first = limiter.schedule(
      'places' as never,
      { key: 'all' },
      () => new Promise<void>((end) => releases.push(end)),
    );
    await until('it runs', () => releases.length === 1);
    const second = limiter.schedule('places' as never, { key: 'all' }, () => 'done');
    await new Promise((resolve) => setTimeout(resolve, 350));
    for (const release of releases.splice(0)) release();
    await first;
    expect(await second).toBe('done');
    expect(told.map(({ outcome }) => outcome)).toEqual(['allowed', 'allowed']);
    const gaveUp = limiter.schedule('places' as never, { key: 'all', cost: 2 }, () => 'never');
    await expect(gaveUp).rejects.toMatchObject({ reason: 'never' });
    expect(told.map(({ outcome }) => outcome)).toEqual(['allowed', 'allowed', 'denied']);
    expect((await limiter.top('places' as never)).keys).toMatchObject([{ key: 'all', denied: 1 }]);
  } finally {
    await limiter.close();
  }
});

test('a key is told no longer than it stands in Valkey', async () => {
  const one = { algorithm: 'fixed-window', limit: 1, window: LONG } as const;
  const limiter = await createRateLimiter({ policies: { one }, telemetry: { exposeKeys: true } });
  try {
    const told: DecisionEvent[] = [];
    limiter.decisions$.subscribe((event) => void told.push(event));
    for (const long of ['x'.repeat(64), 'x'.repeat(1_000_000), '#imitated'])
      await limiter.consume('one' as never, { key: long });
    expect(told.map((event) => event.key)).toEqual([
      'x'.repeat(64),
      expect.stringMatching(/^#[\w-]{32}$/),
      '%0023imitated',
    ]);
  } finally {
    await limiter.close();
  }
});

test('of a policy in shadow top tells what it would have denied', async () => {
  const one = { algorithm: 'fixed-window', limit: 1, window: LONG, mode: 'shadow' } as const;
  const limiter = await createRateLimiter({ policies: { one }, telemetry: { top: 10 } });
  try {
    for (let count = 0; count < 3; count += 1) await limiter.consume('one' as never, { key: 'ada' });
    expect((await limiter.top('one' as never)).keys).toMatchObject([{ key: 'ada', asked: 3, denied: 2 }]);
  } finally {
    await limiter.close();
  }
});

test('nobody is near a limit of which this process knows its share only', async () => {
  const measures = measure();
  const hundred = { algorithm: 'fixed-window', limit: 100, window: LONG } as const;
  const limiter = await createRateLimiter({
    policies: { hundred },
    valkey: 'valkey://127.0.0.1:1',
    instances: 50,
    telemetry: { metrics: true },
  });
  try {
    const decision = await limiter.consume('hundred' as never, { key: 'ada' });
    expect(decision).toMatchObject({ outcome: 'allowed', store: 'local', remaining: 1 });
    expect(await measures.value('rate_limit.near_limit', { 'rate_limit.policy': 'hundred' })).toBe(0);
  } finally {
    await limiter.close();
  }
});

test('a key is no longer on a span than elsewhere', async () => {
  const spans = record();
  const one = { algorithm: 'fixed-window', limit: 1, window: LONG } as const;
  const limiter = await createRateLimiter({
    policies: { one },
    telemetry: { traces: true, exposeKeys: true },
  });
  try {
    const span = trace.getTracer('test').startSpan('request');
    await context.with(trace.setSpan(context.active(), span), () =>
      limiter.consume('one' as never, { key: 'x'.repeat(1_000_000) }),
    );
    span.end();
    const [event] = spans.getFinishedSpans()[0]!.events;
    expect(event!.attributes!['rate_limit.key']).toMatch(/^#[\w-]{32}$/);
  } finally {
    await limiter.close();
  }
});
