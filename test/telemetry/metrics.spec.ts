import { afterEach, describe, expect, test } from '@jest/globals';
import { Controller, Get, type Type } from '@nestjs/common';
import { type Histogram, DataPointType, type MetricData } from '@opentelemetry/sdk-metrics';
import { byPlan, createRateLimiter, key, Priority, RateLimiter } from 'nestjs-valkey-rate-limit';
import { until } from '../../tools/until.js';
import { adapters, type RunningApp } from '../support/app.js';
import { Limit, LONG, type LooseOptions, Skip, startLittle, statuses } from '../support/little.js';
import { ownValkey } from '../support/valkey.js';
import { measure, type Measures } from './support/measures.js';

/** A machine that is busy with something else looks saturated as well. */
const PATIENCE_MS = 40_000;

const releases: (() => void)[] = [];
const hang = () => new Promise<void>((resolve) => releases.push(resolve));
afterEach(() => {
  for (const release of releases.splice(0)) release();
});

@Controller()
class Routes {
  @Get('one')
  @Limit('one')
  one(): string {
    return '';
  }

  @Get('ten')
  @Limit('ten')
  ten(): string {
    return '';
  }

  @Get('bucket')
  @Limit('bucket')
  bucket(): string {
    return '';
  }

  @Get('planned')
  @Limit('planned')
  planned(): string {
    return '';
  }

  @Get('shadow')
  @Limit('shadow')
  shadow(): string {
    return '';
  }

  @Get('queue')
  @Limit('queue')
  queue(): string {
    return '';
  }

  @Get('place')
  @Limit('places')
  async place(): Promise<string> {
    await hang();
    return '';
  }
}

const client = key.header('x-client');
const one = { algorithm: 'fixed-window', limit: 1, window: LONG, key: client } as const;
const policies = {
  one,
  ten: { ...one, limit: 10 },
  // What a client has at once is less than its limit.
  bucket: { algorithm: 'token-bucket', limit: 100, window: LONG, burst: 10, key: client },
  planned: byPlan(
    { free: { algorithm: 'fixed-window', limit: 1, window: LONG }, staff: 'unlimited' },
    { default: 'free', key: client },
  ),
  shadow: { ...one, mode: 'shadow' },
  queue: { algorithm: 'leaky-bucket', limit: 1, window: '1s', burst: 5, key: key.global() },
  places: { algorithm: 'concurrency', limit: 5, lease: '30s', key: key.global() },
} as const;

const as = (name: string, plan = 'free') => ({ headers: { 'x-client': name, 'x-plan': plan } });
const ada = as('ada');
const any = (name: string) => name as never;

const POLICY = 'rate_limit.policy';
const OUTCOME = 'rate_limit.outcome';
const STORE = 'rate_limit.store';
const SHADOW = 'rate_limit.shadow';
const STATE = 'rate_limit.circuit.state';

const start = (
  adapter: (typeof adapters)[number],
  options: LooseOptions = {},
  controllers: Type[] = [Routes],
) =>
  startLittle(
    adapter,
    {
      policies: policies as never,
      identify: { plan: ({ request }) => request.headers['x-plan'] },
      telemetry: { metrics: true },
      ...options,
    },
    controllers,
  );

/** By attributes, as far as they are named here, what has happened at all. */
async function counts(measures: Measures, metric?: string): Promise<readonly unknown[]> {
  return (await countsOf(measures, metric)).filter((each) => each.at(-1) !== 0);
}

async function countsOf(measures: Measures, metric = 'rate_limit.decisions'): Promise<readonly unknown[][]> {
  const names = [POLICY, OUTCOME, STORE, SHADOW];
  return (await measures.points(metric))
    .map(({ attributes, value }) => {
      expect(Object.keys(attributes).filter((name) => !names.includes(name))).toEqual([]);
      return [...names.flatMap((name) => attributes[name] ?? []), value];
    })
    .toSorted((a, b) => (String(a) < String(b) ? -1 : 1));
}

const typeOf = ({ descriptor, ...metric }: MetricData) => [
  metric.dataPointType === DataPointType.SUM && metric.isMonotonic
    ? 'counter'
    : DataPointType[metric.dataPointType],
  descriptor.unit,
  descriptor.description,
];

describe.each(adapters)('metrics on %s', (adapter) => {
  test('have the names, units and types that are promised', async () => {
    const measures = measure();
    const app = await start(adapter);
    await statuses(app, '/one', 4, ada);
    const found = [...(await measures.read())].map(([name, metric]) => [name, ...typeOf(metric)]);
    const text = expect.stringMatching(/^[A-Z1].*\.$/);
    expect(found.toSorted(([name], [other]) => (String(name) < String(other) ? -1 : 1))).toEqual([
      ['rate_limit.decision.duration', 'HISTOGRAM', 's', text],
      ['rate_limit.decisions', 'counter', '{decision}', text],
      ['rate_limit.deny_cache.hits', 'counter', '{decision}', text],
      ['rate_limit.leases.held', 'SUM', '{lease}', text],
      ['rate_limit.near_limit', 'counter', '{decision}', text],
      ['rate_limit.requests.waiting', 'SUM', '{request}', text],
      ['rate_limit.shed.level', 'GAUGE', '1', text],
      ['rate_limit.store.circuit', 'SUM', '{circuit}', text],
      ['rate_limit.store.failures', 'counter', '{failure}', text],
    ]);
  });

  test('count decisions by policy and outcome', async () => {
    const measures = measure();
    const app = await start(adapter);
    expect(await statuses(app, '/one', 5, ada)).toEqual([200, 429, 429, 429, 429]);
    expect(await statuses(app, '/planned', 2, as('bob', 'staff'))).toEqual([200, 200]);
    expect(await statuses(app, '/shadow', 3, ada)).toEqual([200, 200, 200]);
    await app.app.get(RateLimiter).consume(any('one'), { key: 'bob' });
    expect(await counts(measures)).toEqual([
      ['one', 'allowed', 'memory', 2],
      ['one', 'denied', 'memory', 4],
      ['planned', 'unlimited', 2],
      ['shadow', 'allowed', 'memory', 'allowed', 1],
      ['shadow', 'allowed', 'memory', 'denied', 2],
    ]);
    // The guard knows one of these, and the hook before Nest two.
    expect(await counts(measures, 'rate_limit.deny_cache.hits')).toEqual([['one', 3]]);
    // One more, and no more than that.
    await statuses(app, '/one', 1, ada);
    expect(
      await measures.value('rate_limit.decisions', {
        [POLICY]: 'one',
        [OUTCOME]: 'denied',
        [STORE]: 'memory',
      }),
    ).toBe(5);
    expect(await measures.value('rate_limit.deny_cache.hits', { [POLICY]: 'one' })).toBe(4);
  });

  test('begin with nothing for what each policy may say, so that the first is seen', async () => {
    const measures = measure();
    await start(adapter, { policies: { one, shadow: policies.shadow } }, [Two]);
    expect(await countsOf(measures)).toEqual([
      ['one', 'allowed', 'memory', 0],
      ['one', 'denied', 'memory', 0],
      ['shadow', 'allowed', 'memory', 'allowed', 0],
      ['shadow', 'allowed', 'memory', 'denied', 0],
    ]);
    for (const metric of ['rate_limit.near_limit', 'rate_limit.deny_cache.hits']) {
      expect(await countsOf(measures, metric)).toEqual([
        ['one', 0],
        ['shadow', 0],
      ]);
    }
  });

  test('do not count as near who only looks, nor who would have been refused', async () => {
    const measures = measure();
    const app = await start(adapter);
    await statuses(app, '/shadow', 4, ada);
    await statuses(app, '/one', 1, ada);
    for (let count = 0; count < 3; count += 1) {
      await app.app.get(RateLimiter).peek(any('one'), { key: 'ada' });
    }
    expect(await counts(measures, 'rate_limit.near_limit')).toEqual([
      ['one', 1],
      ['shadow', 1],
    ]);
  });

  test('count who has used more than four fifths of a limit, or of what a bucket holds', async () => {
    const measures = measure();
    const app = await start(adapter);
    const near = () => counts(measures, 'rate_limit.near_limit');
    for (const path of ['/ten', '/bucket']) await statuses(app, path, 8, ada);
    expect(await near()).toEqual([]);
    await statuses(app, '/ten', 1, ada);
    expect(await near()).toEqual([['ten', 1]]);
    await statuses(app, '/bucket', 2, ada);
    expect(await near()).toEqual([
      ['bucket', 2],
      ['ten', 1],
    ]);
    // Who is refused is not near it any more.
    expect(await statuses(app, '/ten', 4, ada)).toEqual([200, 429, 429, 429]);
    expect(await near()).toEqual([
      ['bucket', 2],
      ['ten', 2],
    ]);
  });

  test.each(['memory', 'valkey'] as const)(
    'measure how long decisions take in %s, but not what is known',
    async (store) => {
      const measures = measure();
      const valkey =
        store === 'valkey' ? { valkey: process.env['TEST_VALKEY_URL']!, deadline: '5s' as const } : {};
      const app = await start(adapter, { ...valkey, prefix: `metrics-${process.pid}-${adapter}:` });
      const begun = performance.now();
      await statuses(app, '/one', 5, ada);
      const tookS = (performance.now() - begun) / 1_000;
      // Nobody is asked for who has no limit.
      await statuses(app, '/planned', 1, as('ada', 'staff'));
      const [point, ...others] = await measures.points('rate_limit.decision.duration');
      expect(others).toEqual([]);
      expect(point!.attributes).toEqual({});
      const { count, sum, buckets } = point!.value as Histogram;
      // The store has decided two of five.
      expect(count).toBe(2);
      expect(sum).toBeGreaterThan(0);
      expect(sum).toBeLessThan(tookS);
      expect(buckets.counts.reduce((total, each) => total + each, 0)).toBe(2);
      // Fine enough for what takes microseconds, and up to the longest deadline.
      expect([buckets.boundaries[0], buckets.boundaries.at(-1)]).toEqual([0.000_05, 10]);
    },
  );

  test('tell who waits and what is held', async () => {
    const measures = measure();
    const app = await start(adapter);
    const limiter = app.app.get(RateLimiter);
    const value = (name: string) => measures.value(`rate_limit.${name}`);
    expect([await value('requests.waiting'), await value('leases.held')]).toEqual([0, 0]);
    const held = app.fetch('/place');
    const task = limiter.schedule(any('places'), { key: 'another' }, hang);
    await until(
      'both have their places',
      async () => releases.length === 2 && (await value('leases.held')) === 2,
    );
    const waiting = [app.fetch('/queue'), app.fetch('/queue')];
    const turn = limiter.schedule(any('queue'), { key: 'global' }, () => 'done');
    await until('two wait', async () => (await value('requests.waiting')) === 2);
    for (const release of releases.splice(0)) release();
    expect((await held).status).toBe(200);
    await task;
    await until('nothing is held', async () => (await value('leases.held')) === 0);
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200]);
    expect(await turn).toBe('done');
    expect(await value('requests.waiting')).toBe(0);
  });

  test('tell that the store does not answer, and that it does again', async () => {
    const measures = measure();
    const valkey = await ownValkey();
    const app = await start(
      adapter,
      {
        valkey: valkey.url,
        deadline: '5s',
        policies: {
          closed: { ...one, limit: 9, onStoreFailure: 'closed' },
          local: { ...one, limit: 9 },
        } as never,
      },
      [Both],
    );
    const circuit = async () => [
      await measures.value('rate_limit.store.circuit', { [STATE]: 'closed' }),
      await measures.value('rate_limit.store.circuit', { [STATE]: 'open' }),
    ];
    expect(await statuses(app, '/both', 1, ada)).toEqual([200]);
    expect(await measures.value('rate_limit.store.failures')).toBe(0);
    expect(await circuit()).toEqual([1, 0]);
    await valkey.stop();
    expect(await statuses(app, '/both', 3, ada)).toEqual([503, 503, 503]);
    expect(await measures.value('rate_limit.store.failures')).toBeGreaterThanOrEqual(1);
    expect(await circuit()).toEqual([0, 1]);
    expect(await counts(measures)).toEqual([
      ['closed', 'allowed', 'valkey', 1],
      ['closed', 'unavailable', 3],
      ['local', 'allowed', 'local', 3],
      ['local', 'allowed', 'valkey', 1],
    ]);
    await ownValkey({ port: valkey.port });
    await until('it is asked again', async () => (await circuit())[0] === 1);
    expect(await circuit()).toEqual([1, 0]);
    expect(await statuses(app, '/both', 1, ada)).toEqual([200]);
  });

  test('are not there where they are not asked for', async () => {
    const measures = measure();
    for (const telemetry of [undefined, { metrics: false }, { traces: true, exposeKeys: true, top: 100 }]) {
      const app = await start(adapter, {
        ...(telemetry && { telemetry }),
        ...(telemetry === undefined && { telemetry: {} }),
      });
      await statuses(app, '/one', 4, ada);
      expect([...(await measures.read()).keys()]).toEqual([]);
    }
  });

  test('are counts that can be collected when the application has ended, and those of the next are its own', async () => {
    const measures = measure();
    const decisions = { [POLICY]: 'one', [OUTCOME]: 'allowed', [STORE]: 'memory' };
    const first = await start(adapter);
    await statuses(first, '/one', 1, as('one'));
    await statuses(first, '/one', 1, as('another'));
    await first.close();
    // Whoever sends metrics does it a last time when all else has ended.
    expect(await measures.value('rate_limit.decisions', decisions)).toBe(2);
    const second = await start(adapter);
    await statuses(second, '/one', 1, as('a third'));
    expect(await measures.value('rate_limit.decisions', decisions)).toBe(1);
    expect(await measures.value('rate_limit.leases.held')).toBe(0);
  });

  test('are states that end with the application', async () => {
    const measures = measure(true);
    const app = await start(adapter);
    await measures.read();
    await app.close();
    await measures.read();
    const left = [...(await measures.read()).values()].filter(({ dataPoints }) => dataPoints.length > 0);
    const states = /^rate_limit\.(requests\.waiting|leases\.held|store\.circuit|shed\.level)$/;
    expect(left.filter(({ descriptor }) => states.test(descriptor.name))).toEqual([]);
  });
});

test('are as many for two thousand clients as for one, and tell of none of them', async () => {
  const measures = measure();
  const app = await start('fastify', { telemetry: { metrics: true, exposeKeys: true, top: 1_000 } });
  const series = async () =>
    [...(await measures.read()).values()].flatMap(({ descriptor, dataPoints }) =>
      dataPoints.map(({ attributes }) => `${descriptor.name} ${JSON.stringify(attributes)}`),
    );
  await statuses(app, '/one', 4, as('client-0'));
  const before = await series();
  await many(app, 2_000);
  expect((await series()).toSorted()).toEqual(before.toSorted());
  const all = JSON.stringify([...(await measures.read()).values()]);
  expect(all).toContain('"one"');
  expect(all).not.toContain('client-');
  expect(await counts(measures)).toEqual([
    ['one', 'allowed', 'memory', 2_001],
    ['one', 'denied', 'memory', 3],
  ]);
});

async function many(app: RunningApp, clients: number): Promise<void> {
  const asked = 50;
  for (let from = 1; from <= clients; from += asked) {
    await Promise.all(
      Array.from({ length: asked }, async (_, index) => {
        const response = await app.fetch('/one', as(`client-${from + index}`));
        expect(response.status).toBe(200);
        await response.arrayBuffer();
      }),
    );
  }
}

@Controller()
class Both {
  @Get('both')
  @Limit('closed', 'local')
  both(): string {
    return '';
  }
}

@Controller()
class Two {
  @Get('two')
  @Limit('one', 'shadow')
  two(): string {
    return '';
  }
}

@Controller()
class Quick {
  @Get('background')
  @Priority('background')
  background(): string {
    return '';
  }

  @Get('health')
  @Skip()
  health(): string {
    return '';
  }
}

test(
  'tell how much a saturated process sheds, and whom',
  async () => {
    const measures = measure();
    const app = await start('fastify', { shed: { worker: { utilization: 0.8, delay: 30 } } }, [Quick]);
    const level = async () => (await measures.value('rate_limit.shed.level'))!;
    expect(await level()).toBe(0);
    // The event loop of this process, which is also the application's, is kept busy.
    let isBusy = true;
    const busy = () => {
      const end = performance.now() + 60;
      while (performance.now() < end);
      if (isBusy) setImmediate(busy);
    };
    busy();
    let refused = 0;
    try {
      await until('background is refused', async () => {
        refused += (await app.fetch('/background')).status === 503 ? 1 : 0;
        return refused > 0;
      });
      await until('all of it is', async () => (await level()) >= 1);
      expect(await level()).toBeLessThanOrEqual(2);
    } finally {
      isBusy = false;
    }
    expect(await counts(measures)).toEqual([['shed.worker', 'shed', refused]]);
    await until('it has recovered a little', async () => (await level()) < 1, PATIENCE_MS);
  },
  PATIENCE_MS + 30_000,
);

test('a limiter without an application is measured as well, also when it has ended', async () => {
  const measures = measure();
  const limiter = await createRateLimiter({ policies: { one }, telemetry: { metrics: true } });
  await limiter.consume(any('one'), { key: 'ada' });
  expect(
    await measures.value('rate_limit.decisions', {
      [POLICY]: 'one',
      [OUTCOME]: 'allowed',
      [STORE]: 'memory',
    }),
  ).toBe(1);
  expect(await measures.value('rate_limit.shed.level')).toBe(0);
  await limiter.consume(any('one'), { key: 'bob' });
  await limiter.close();
  expect(await measures.value('rate_limit.near_limit', { [POLICY]: 'one' })).toBe(2);
});
