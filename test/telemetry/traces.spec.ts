import { describe, expect, jest, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { context, type Span, trace } from '@opentelemetry/api';
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace-base';
import { createRateLimiter, key } from 'nestjs-valkey-rate-limit';
import { RequestLimiter } from '../../libs/rate-limit/src/nest/request-limiter.js';
import { until } from '../../tools/until.js';
import { adapters } from '../support/app.js';
import { Limit, LONG, type LooseOptions, startLittle, statuses } from '../support/little.js';
import { ownValkey } from '../support/valkey.js';
import { decisionsOn, record, spanned } from './support/spans.js';

@Controller()
class Routes {
  @Get('both')
  @Limit('many', 'one')
  both(): string {
    return '';
  }

  @Get('one')
  @Limit('one')
  one(): string {
    return '';
  }

  @Get('shadow')
  @Limit('shadow')
  shadow(): string {
    return '';
  }
}

const client = key.header('x-client');
const one = { algorithm: 'fixed-window', limit: 1, window: LONG, key: client } as const;
const policies = { one, many: { ...one, limit: 100 }, shadow: { ...one, mode: 'shadow' } } as const;
const as = (name: string) => ({ headers: { 'x-client': name } });
const ada = as('ada');

const NAME = 'rate_limit.decision';
const event = (policy: string, outcome: string, more: object = {}) => ({
  name: NAME,
  'rate_limit.policy': policy,
  'rate_limit.outcome': outcome,
  ...more,
});
const counted = (limit: number, remaining: number, store = 'memory') => ({
  'rate_limit.store': store,
  'rate_limit.limit': limit,
  'rate_limit.remaining': remaining,
});

describe.each(adapters)('spans of requests on %s', (adapter) => {
  const start = (options: LooseOptions = {}, began?: (span: Span) => void) =>
    startLittle(
      adapter,
      { policies: policies as never, telemetry: { traces: true }, ...options },
      [Routes],
      spanned(adapter, began),
    );

  test('tell of each decision, also of those who are refused', async () => {
    const exporter = record();
    const app = await start();
    const begin = jest.spyOn(app.app.get(RequestLimiter), 'begin');
    expect(await statuses(app, '/both', 5, ada)).toEqual([200, 429, 429, 429, 429]);
    expect(begin).toHaveBeenCalledTimes(3);
    await until('all have ended', () => exporter.getFinishedSpans().length === 5);
    const denied = event('one', 'denied', counted(1, 0));
    expect(exporter.getFinishedSpans().map(decisionsOn)).toEqual([
      [event('many', 'allowed', counted(100, 99)), event('one', 'allowed', counted(1, 0))],
      [event('many', 'allowed', counted(100, 99)), denied],
      // Known by the guard, and before Nest.
      [denied],
      [denied],
      [denied],
    ]);
    // When it was decided, and no child of its own.
    const [span] = exporter.getFinishedSpans();
    expect(span!.events[0]!.time[0]).toBeGreaterThanOrEqual(span!.startTime[0]);
  });

  test('tell what a policy in shadow would have said', async () => {
    const exporter = record();
    const app = await start();
    await statuses(app, '/shadow', 2, ada);
    await until('both have ended', () => exporter.getFinishedSpans().length === 2);
    expect(exporter.getFinishedSpans().map(decisionsOn)).toEqual([
      [event('shadow', 'allowed', { ...counted(1, 0), 'rate_limit.shadow': 'allowed' })],
      [event('shadow', 'allowed', { ...counted(1, 0), 'rate_limit.shadow': 'denied' })],
    ]);
  });

  test.each(['memory', 'valkey'] as const)(
    'are told of their own requests alone, counted in %s',
    async (store) => {
      const exporter = record();
      const valkey =
        store === 'valkey' ? { valkey: process.env['TEST_VALKEY_URL']!, deadline: '5s' as const } : {};
      const app = await start({
        ...valkey,
        prefix: `traces-${process.pid}-${adapter}:`,
        telemetry: { traces: true, exposeKeys: true },
      });
      const clients = Array.from({ length: 50 }, (_, index) => `client-${index}`);
      const answers = await Promise.all(clients.map((name) => app.fetch('/both', as(name))));
      expect(answers.every(({ status }) => status === 200)).toBe(true);
      await until('all have ended', () => exporter.getFinishedSpans().length === 50);
      const spans = exporter.getFinishedSpans();
      expect(new Set(spans.map(({ name }) => name))).toEqual(new Set(clients));
      for (const span of spans) {
        expect(decisionsOn(span)).toEqual([
          event('many', 'allowed', { ...counted(100, 99, store), 'rate_limit.key': span.name }),
          event('one', 'allowed', { ...counted(1, 0, store), 'rate_limit.key': span.name }),
        ]);
      }
      // Refused at once as well.
      exporter.reset();
      await Promise.all(clients.map((name) => app.fetch('/one', as(name))));
      await until('all have ended again', () => exporter.getFinishedSpans().length === 50);
      for (const span of exporter.getFinishedSpans()) {
        expect(decisionsOn(span)).toEqual([
          event('one', 'denied', { ...counted(1, 0, store), 'rate_limit.key': span.name }),
        ]);
      }
    },
  );

  test('do not tell who was counted unless that was asked for', async () => {
    const exporter = record();
    const [silent, open] = [await start(), await start({ telemetry: { traces: true, exposeKeys: true } })];
    for (const app of [silent, open]) await statuses(app, '/one', 4, ada);
    await until('all have ended', () => exporter.getFinishedSpans().length === 8);
    const keys = exporter.getFinishedSpans().map(({ events }) => events[0]!.attributes!['rate_limit.key']);
    expect(keys).toEqual([undefined, undefined, undefined, undefined, 'ada', 'ada', 'ada', 'ada']);
  });

  test('tell nothing where traces are not asked for', async () => {
    const exporter = record();
    const app = await start({ telemetry: { metrics: true } });
    await statuses(app, '/one', 2, ada);
    await until('both have ended', () => exporter.getFinishedSpans().length === 2);
    expect(exporter.getFinishedSpans().map(decisionsOn)).toEqual([[], []]);
  });

  test('that are not recorded are left alone', async () => {
    const exporter = record(new AlwaysOffSampler());
    const asked: unknown[] = [];
    const app = await start({}, (span) => {
      expect(span.isRecording()).toBe(false);
      asked.push(jest.spyOn(span, 'addEvent'));
    });
    expect(await statuses(app, '/one', 4, ada)).toEqual([200, 429, 429, 429]);
    expect(asked).toHaveLength(4);
    for (const each of asked) expect(each).not.toHaveBeenCalled();
    expect(exporter.getFinishedSpans()).toEqual([]);
  });

  test('need not be there', async () => {
    const exporter = record();
    const app = await startLittle(adapter, { policies: policies as never, telemetry: { traces: true } }, [
      Routes,
    ]);
    expect(await statuses(app, '/one', 4, ada)).toEqual([200, 429, 429, 429]);
    expect(exporter.getFinishedSpans()).toEqual([]);
  });
});

test('nor need OpenTelemetry be set up', async () => {
  const app = await startLittle(
    'fastify',
    { policies: policies as never, telemetry: { traces: true, metrics: true } },
    [Routes],
  );
  expect(await statuses(app, '/one', 4, ada)).toEqual([200, 429, 429, 429]);
});

test('a task tells its own span, and what nobody could decide is told as well', async () => {
  const exporter = record();
  const valkey = await ownValkey();
  const limiter = await createRateLimiter({
    valkey: valkey.url,
    deadline: '5s',
    policies: { closed: { ...one, onStoreFailure: 'closed' } },
    telemetry: { traces: true },
  });
  await valkey.stop();
  const span = trace.getTracer('test').startSpan('task');
  await context.with(trace.setSpan(context.active(), span), () =>
    limiter.consume('closed' as never, { key: 'ada' }),
  );
  span.end();
  expect(exporter.getFinishedSpans().map(decisionsOn)).toEqual([[event('closed', 'unavailable')]]);
  await limiter.close();
});
