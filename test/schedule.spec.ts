import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  createRateLimiter,
  type RateLimiter,
  RateLimitConfigError,
  ScheduleError,
} from 'nestjs-valkey-rate-limit';
import { until } from '../tools/until.js';

/** The names of the sample's policies are registered for the whole program; these are others. */
const any = (name: string) => name as never;
let prefixes = 0;

describe.each(['memory', 'valkey'] as const)('schedule, counted in %s,', (store) => {
  let limiters: RateLimiter[];
  let limiter: RateLimiter;

  const open = () =>
    createRateLimiter({
      ...(store === 'valkey' && { valkey: process.env['TEST_VALKEY_URL']!, deadline: '2s' }),
      prefix: `schedule-${process.pid}-${prefixes}:`,
      policies: {
        line: { algorithm: 'leaky-bucket', limit: 20, window: '1s', burst: 100 },
        short: { algorithm: 'leaky-bucket', limit: 20, window: '1s', burst: 2, maxWaiting: 1 },
        window: { algorithm: 'sliding-log', limit: 2, window: 300 },
        strict: { algorithm: 'sliding-log', limit: 1, window: 100, penalty: { after: 2, block: '1h' } },
        never: { algorithm: 'token-bucket', limit: 2, window: '1h' },
        places: { algorithm: 'concurrency', limit: 2, lease: '1s' },
        shadow: { algorithm: 'sliding-log', limit: 0, window: '1h', mode: 'shadow' },
      },
    });

  beforeEach(async () => {
    prefixes += 1;
    limiter = await open();
    limiters = [limiter];
    if (store === 'valkey') limiters.push(await open(), await open());
  });
  afterEach(() => Promise.all(limiters.map((each) => each.close())));

  const remaining = async (policy: string) => {
    const decision = await limiter.peek(any(policy), { key: 'all' });
    return 'remaining' in decision ? decision.remaining : undefined;
  };
  const failure = async (promise: Promise<unknown>): Promise<ScheduleError> => {
    const error = await promise.then(
      () => new Error('It ran.'),
      (reason: unknown) => reason,
    );
    if (!(error instanceof ScheduleError)) throw error;
    return error;
  };

  test('runs tasks evenly, in all instances together, and gives what they return', async () => {
    const begun: number[] = [];
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        limiters[index % limiters.length]!.schedule(any('line'), { key: 'all' }, async () => {
          begun.push(performance.now());
          return index;
        }),
      ),
    );
    expect(results).toEqual(Array.from({ length: 12 }, (_, index) => index));
    // Twelve turns of 50 ms, the first of them at once.
    expect(begun.at(-1)! - begun[0]!).toBeGreaterThan(11 * 50 - 40);
  });

  test('waits for what a limit without turns allows, too', async () => {
    const began = performance.now();
    const run = () => limiter.schedule(any('window'), { key: 'all' }, () => performance.now() - began);
    const at = await Promise.all([run(), run(), run(), run(), run()]);
    const late = at.filter((milliseconds) => milliseconds >= 295);
    expect(late).toHaveLength(3);
    expect(Math.max(...at)).toBeGreaterThanOrEqual(590);
  });

  test('runs as many at once as there are places, renews them, and gives them back whatever comes of the task', async () => {
    let [running, most] = [0, 0];
    const task = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 60));
      running -= 1;
    };
    await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        limiters[index % limiters.length]!.schedule(any('places'), { key: 'all' }, task),
      ),
    );
    expect(most).toBe(2);
    const failing = limiter.schedule(any('places'), { key: 'all' }, () => {
      throw new TypeError('as the test wants');
    });
    await expect(failing).rejects.toThrow(new TypeError('as the test wants'));
    expect(await remaining('places')).toBe(2);
    // Longer than the lease.
    const long = limiter.schedule(any('places'), { key: 'all', cost: 2 }, async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_300));
      return remaining('places');
    });
    expect(await long).toBe(0);
    expect(await remaining('places')).toBe(2);
  });

  test('gives up when its turn does not come within maxWait, and has taken nothing', async () => {
    await limiter.consume(any('line'), { key: 'all', cost: 10 });
    const { reason, policy, retryAfterMs, message } = await failure(
      limiter.schedule(any('line'), { key: 'all', maxWait: 100 }, () => 'never'),
    );
    expect([reason, policy]).toEqual(['max-wait', 'line']);
    expect(retryAfterMs).toBeGreaterThan(300);
    expect(message).toBe('A task under policy "line" was not run: its turn does not come within maxWait.');
    expect(await remaining('line')).toBeGreaterThanOrEqual(90);
  });

  test('gives up when too many wait here, when it can never run, and at once', async () => {
    const first = limiter.schedule(any('short'), { key: 'all', cost: 2 }, () => 'first');
    const second = limiter.schedule(any('short'), { key: 'all' }, () => 'second');
    await until('one waits', async () => (await remaining('short')) === 0);
    const third = await failure(limiter.schedule(any('short'), { key: 'all' }, () => 'third'));
    expect(third.reason).toBe('queue-full');
    expect(third.retryAfterMs).toBeGreaterThan(0);
    expect(await Promise.all([first, second])).toEqual(['first', 'second']);
    expect(
      (await failure(limiter.schedule(any('never'), { key: 'all', cost: 3 }, () => 'never'))).reason,
    ).toBe('never');
  });

  test('gives up when its signal is aborted before its turn, with its reason, and gives its place back', async () => {
    await limiter.consume(any('line'), { key: 'all', cost: 20 });
    const controller = new AbortController();
    let hasRun = false;
    const task = limiter.schedule(
      any('line'),
      { key: 'all', signal: controller.signal },
      () => (hasRun = true),
    );
    await until('it waits', async () => (await remaining('line'))! <= 80);
    controller.abort(new Error('The caller has gone.'));
    await expect(task).rejects.toThrow('The caller has gone.');
    expect(hasRun).toBe(false);
    await until('its place is given back', async () => (await remaining('line'))! > 80);
    await expect(
      limiter.schedule(any('line'), { key: 'all', signal: controller.signal }, () => 'never'),
    ).rejects.toThrow('The caller has gone.');
    const given = await limiter.schedule(
      any('shadow'),
      { key: 'all', signal: new AbortController().signal },
      (signal) => signal,
    );
    expect(given).toBeInstanceOf(AbortSignal);
  });

  test('aborted while the store is asked, it does not run', async () => {
    const controller = new AbortController();
    let hasRun = false;
    const run = () => void (hasRun = true);
    const task = limiter.schedule(any('line'), { key: 'all', signal: controller.signal }, run);
    controller.abort(new Error('The caller has gone.'));
    await expect(task).rejects.toThrow('The caller has gone.');
    expect(hasRun).toBe(false);
    expect(await remaining('line')).toBe(100);
  });

  test('whoever leaves from the middle of the line makes nobody come too early', async () => {
    const controller = new AbortController();
    const begun: number[] = [];
    const run = (options = {}) =>
      limiter.schedule(any('line'), { key: 'all', ...options }, () => void begun.push(performance.now()));
    const leaving = { signal: controller.signal };
    const first = [run(), ...Array.from({ length: 8 }, () => run(leaving)), run(), run()];
    await until('all stand in the line', async () => (await remaining('line'))! <= 90);
    controller.abort(new Error('They have gone.'));
    const settled = Promise.allSettled(first);
    await new Promise((resolve) => setTimeout(resolve, 30));
    // More than have left, so that the turns of those that stayed are among those that they could get.
    const later = Array.from({ length: 12 }, () => run());
    await Promise.all([settled, ...later]);
    expect(begun).toHaveLength(15);
    // Turns of 50 ms, eight of which nobody takes: what comes later stands behind those that stayed, and nothing is gained.
    expect(begun.at(-1)! - begun[0]!).toBeGreaterThan(900);
  });

  test('a task is not punished for asking until it may', async () => {
    const run = () => limiter.schedule(any('strict'), { key: 'all' }, () => 'ran');
    expect(await Promise.all([run(), run(), run()])).toEqual(['ran', 'ran', 'ran']);
  });

  test('ends what waits when the limiter is closed', async () => {
    await limiter.consume(any('line'), { key: 'all', cost: 50 });
    const waiting = failure(limiter.schedule(any('line'), { key: 'all' }, () => 'never'));
    await until('it waits', async () => (await remaining('line'))! < 50);
    await limiter.close();
    expect((await waiting).reason).toBe('closed');
  });

  test('a policy in shadow lets every task run at once', async () => {
    expect(await limiter.schedule(any('shadow'), { key: 'all' }, () => 'ran')).toBe('ran');
  });

  test.each([
    [{ key: '' }, 'INVALID_KEY'],
    [{ key: 'all', cost: -1 }, 'INVALID_COST'],
    [{ key: 'all', maxWait: 'soon' }, 'INVALID_MAX_WAIT'],
    [{ key: 'all', maxWait: -1 }, 'INVALID_MAX_WAIT'],
  ])('%j is refused', async (options, code) => {
    const error = limiter.schedule(any('line'), options as never, () => 'never');
    await expect(error).rejects.toThrow(RateLimitConfigError);
    await expect(error).rejects.toMatchObject({ code });
  });
});

test('while Valkey does not answer, a task goes by onStoreFailure', async () => {
  const one = { algorithm: 'leaky-bucket', limit: 1, window: '1s' } as const;
  const limiter = await createRateLimiter({
    valkey: 'valkey://127.0.0.1:1',
    policies: {
      open: { ...one, onStoreFailure: 'open' },
      closed: { ...one, onStoreFailure: 'closed' },
      local: one,
    },
  });
  expect(await limiter.schedule(any('open'), { key: 'all' }, () => 'ran')).toBe('ran');
  expect(await limiter.schedule(any('local'), { key: 'all' }, () => 'ran')).toBe('ran');
  await expect(limiter.schedule(any('closed'), { key: 'all' }, () => 'ran')).rejects.toMatchObject({
    reason: 'unavailable',
  });
  await limiter.close();
});
