import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  BadRequestException,
  type CanActivate,
  Controller,
  ForbiddenException,
  Get,
  HttpCode,
  Injectable,
  ParseIntPipe,
  Query,
  Req,
  Res,
  StreamableFile,
  UseGuards,
} from '@nestjs/common';
import { Readable } from 'node:stream';
import {
  type Outcome,
  RateLimiter,
  type RateLimitContext,
  type RateLimitRequest,
} from 'nestjs-valkey-rate-limit';
import { until } from '../../tools/until.js';
import { adapters, type RunningApp } from '../support/app.js';
import { callsOf, lookInto } from '../support/client.js';
import { type LooseLimiter, Limit, LONG, startLittle } from '../support/little.js';
import { LimiterLogs } from '../support/logs.js';
import { refusalOf } from '../support/refusal.js';
import { ownValkey } from '../support/valkey.js';

const START = 1_000_000_000_000;
const ten = { algorithm: 'sliding-log', limit: 10, window: '1h' } as const;

/** What the functions of a policy were told, in the order in which requests ended. */
const outcomes: (Outcome & { readonly path: unknown })[] = [];
/** What they say. */
let real: unknown = 0;
/** Ends what hangs. */
let release: () => void = () => undefined;

const watch = (outcome: Outcome, { request }: RateLimitContext) => {
  outcomes.push({ ...outcome, path: request['url'] });
  return real as number;
};

@Injectable()
class Nobody implements CanActivate {
  canActivate(): boolean {
    throw new ForbiddenException();
  }
}

@Controller()
class Routes {
  @Get('success')
  @Limit('success', { settle: 'on-success-refund', cost: 2 })
  success(
    @Query('status') status: string,
    @Res({ passthrough: true }) response: { status(code: number): unknown },
  ) {
    if (status !== undefined) response.status(Number(status));
    return 'done';
  }

  @Get('failure')
  @Limit('failure', { settle: 'on-failure-refund' })
  failure(@Query('id', ParseIntPipe) id: number) {
    if (id === 0) throw new BadRequestException();
    if (id < 0) throw new Error('A fault that a test wants.');
    return 'done';
  }

  @Get('guarded')
  @UseGuards(Nobody)
  @Limit('failure', { settle: 'on-failure-refund' })
  guarded() {
    return 'never';
  }

  @Get('watched')
  @Limit('watched', { settle: watch, cost: 3 })
  watched(@Query('fail') fail: string) {
    if (fail !== undefined) throw new BadRequestException('as the test wants');
    return 'done';
  }

  @Get('tokens')
  @Limit('tokens', {
    cost: 5,
    settle: (_: Outcome, { request }: RateLimitContext) => request['tokens'],
  })
  tokens(@Req() request: RateLimitRequest, @Query('used') used: string) {
    Object.assign(request, { tokens: Number(used) });
    return 'done';
  }

  @Get('slow')
  @HttpCode(200)
  @Limit('watched', { settle: watch })
  async slow() {
    await new Promise<void>((resolve) => (release = resolve));
    return 'done';
  }

  @Get('stream')
  @Limit('watched', { settle: watch })
  stream() {
    const chunks = new Readable({ read() {} });
    chunks.push('begun');
    release = () => chunks.push(null);
    return new StreamableFile(chunks);
  }

  @Get('counted')
  @Limit('counter', { settle: 'on-success-refund' })
  @Limit('watched')
  counted() {
    return 'done';
  }

  @Get('both')
  @Limit('success', { settle: 'on-success-refund' })
  @Limit('watched')
  both() {
    return 'done';
  }
}

const policies = {
  success: { ...ten, limit: 3 },
  failure: ten,
  watched: { ...ten, limit: 8 },
  tokens: ten,
  counter: { algorithm: 'fixed-window', limit: 10, window: LONG } as const,
};
let prefixes = 0;

afterEach(() => {
  outcomes.length = 0;
  real = 0;
  release();
  release = () => undefined;
});

describe.each(
  adapters.flatMap((adapter) => (['memory', 'valkey'] as const).map((store) => [adapter, store] as const)),
)('a cost that is settled on %s, counted in %s,', (adapter, store) => {
  let app: RunningApp;
  const logs = new LimiterLogs();

  const start = async (limits = {}) => {
    app = await startLittle(
      adapter,
      {
        policies,
        clock: () => START,
        prefix: `settle-${process.pid}-${(prefixes += 1)}:`,
        ...(store === 'valkey' && { valkey: process.env['TEST_VALKEY_URL']!, deadline: '5s' }),
        ...limits,
      },
      [Routes],
      { module: logs.install },
    );
  };
  const left = async (policy: string) => {
    const limiter = app.app.get(RateLimiter) as unknown as LooseLimiter;
    const decision = await limiter.peek(policy, { key: '127.0.0.1' });
    return 'remaining' in decision ? decision.remaining : undefined;
  };
  /** A request, and what is left when it is settled: settling comes after the answer. */
  const leftAfter = async (path: string, policy: string, wanted: number) => {
    const { status } = await app.fetch(path);
    await until(`${wanted} to be left of ${policy}`, async () => (await left(policy)) === wanted);
    return status;
  };

  test('is given back to whoever succeeds, and to nobody else', async () => {
    await start();
    expect(await leftAfter('/success', 'success', 3)).toBe(200);
    expect(await leftAfter('/success?status=302', 'success', 3)).toBe(302);
    expect(await leftAfter('/success?status=401', 'success', 1)).toBe(401);
    expect((await app.fetch('/success')).status).toBe(429);
  });

  test('is given back where the request failed: in a pipe, a handler, or a guard that comes later', async () => {
    await start();
    expect(await leftAfter('/failure?id=7', 'failure', 9)).toBe(200);
    expect(await leftAfter('/failure?id=seven', 'failure', 9)).toBe(400);
    expect(await leftAfter('/failure?id=0', 'failure', 9)).toBe(400);
    expect(await leftAfter('/failure?id=-1', 'failure', 9)).toBe(500);
    expect(await leftAfter('/guarded', 'failure', 9)).toBe(403);
    expect(await leftAfter('/failure?id=8', 'failure', 8)).toBe(200);
  });

  test('is what a function of the outcome says: less, as much, or more, as far as it is there', async () => {
    await start();
    expect(await leftAfter('/tokens?used=1', 'tokens', 9)).toBe(200);
    await leftAfter('/tokens?used=5', 'tokens', 4);
    expect((await app.fetch('/tokens?used=1')).status).toBe(429);
    await leftAfter('/watched', 'watched', 8);
    real = 4;
    await leftAfter('/watched', 'watched', 4);
    real = 1_000;
    await leftAfter('/watched', 'watched', 0);
    expect(outcomes.map(({ result, status }) => `${result} ${status}`)).toEqual(Array(3).fill('success 200'));
  });

  test('the function is told what was thrown', async () => {
    await start();
    await leftAfter('/watched?fail=1', 'watched', 8);
    expect(outcomes).toMatchObject([
      { result: 'failure', status: 400, error: { message: 'as the test wants' } },
    ]);
  });

  test('whoever hangs up is told of as that, and is given nothing back by a word', async () => {
    await start();
    real = 3;
    for (const path of ['/slow', '/stream']) {
      const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
      await once(socket, 'connect');
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      if (path === '/stream') await once(socket, 'data');
      else await until('the request to be counted', async () => (await left('watched')) === 7);
      socket.destroy();
      const told = path === '/slow' ? 1 : 2;
      await until('the end of the request to be seen', async () => outcomes.length === told);
      release();
    }
    expect(outcomes).toMatchObject([{ result: 'abandoned' }, { result: 'abandoned' }]);
    expect(outcomes[0]).not.toHaveProperty('status');
    await until('both to be settled', async () => (await left('watched')) === 2);
  });

  test('a stream is settled when it has ended, and once', async () => {
    await start();
    const response = await app.fetch('/stream');
    expect(await left('watched')).toBe(7);
    expect(outcomes).toEqual([]);
    release();
    expect(await response.text()).toBe('begun');
    await until('the stream to be settled', async () => (await left('watched')) === 8);
    expect(outcomes).toHaveLength(1);
  });

  test('a refused request has nothing to settle', async () => {
    await start();
    real = 8;
    await leftAfter('/watched', 'watched', 0);
    expect((await app.fetch('/both')).status).toBe(429);
    expect(await left('success')).toBe(3);
    expect((await app.fetch('/watched')).status).toBe(429);
    expect(outcomes).toHaveLength(1);
  });

  test.each([NaN, -1, 1.5, 'many', undefined])(
    'a function that says %p keeps what was reserved, and is told of once',
    async (said) => {
      await start();
      real = said;
      await leftAfter('/watched', 'watched', 5);
      await leftAfter('/watched', 'watched', 2);
      await until('both to be settled', async () => outcomes.length === 2);
      const told = logs.lines.filter((line) => line.includes('cannot be settled'));
      expect(told).toHaveLength(1);
      expect(told[0]).toMatch(
        /^warn: Policy "watched" cannot be settled, and what was reserved is kept: settle gave /,
      );
      logs.lines.length = 0;
    },
  );

  test('a thousand at once are all settled, also when the application shuts down', async () => {
    await start({ policies: { ...policies, success: { ...ten, algorithm: 'fixed-window', limit: 10_000 } } });
    const limiter = app.app.get(RateLimiter) as unknown as LooseLimiter;
    expect(limiter).toBeDefined();
    await Promise.all(Array.from({ length: 250 }, () => app.fetch('/success')));
    await until('all to be given back', async () => (await left('success')) === 10_000);
  });
});

describe.each(adapters)('a cost that is settled on %s, and Valkey,', (adapter) => {
  const start = async (url: string) => {
    const logs = new LimiterLogs();
    const limits = { policies, valkey: url, deadline: '5s', clock: () => START } as const;
    return { app: await startLittle(adapter, limits, [Routes], { module: logs.install }), logs };
  };

  test('takes one call before and one after, however many policies there are', async () => {
    const { url } = await ownValkey();
    const client = lookInto(url);
    const { app } = await start(url);
    const counters = async () => (await client.keys('*:counter:fw')).length;
    // The server learns the scripts.
    await app.fetch('/counted');
    await until('the first is settled', async () => (await counters()) === 0);
    await client.config('RESETSTAT');
    await app.fetch('/counted');
    await until('the second is settled', async () => (await counters()) === 0);
    expect(await callsOf(client, 'evalsha')).toBe(2);
  });

  test('stays as it was reserved where Valkey has gone, and nothing else comes of it', async () => {
    const server = await ownValkey();
    const { app, logs } = await start(server.url);
    const slow = app.fetch('/slow');
    const client = lookInto(server.url);
    await until('it is counted', async () => (await client.dbsize()) === 1);
    client.disconnect();
    await server.stop();
    release();
    expect((await slow).status).toBe(200);
    await until('the outage is told', () => logs.lines.some((line) => line.includes('does not decide')));
    // Nobody has to be told that nothing was given back, and nothing is thrown into the void.
    expect(logs.lines.filter((line) => !line.startsWith('log: '))).toHaveLength(1);
    await app.close();
  });
});

describe('what cannot be settled', () => {
  test('a policy with a name says where that is said', async () => {
    const { code, message } = await refusalOf({ policies: { ten: { ...ten, settle: 'on-success-refund' } } });
    expect(code).toBe('SETTLE_AT_HANDLER');
    expect(message).toBe(
      'policy "ten": settle is said where the policy is used: @RateLimit(\'ten\', { settle: … }).',
    );
  });

  test.each([
    [
      'on-success',
      "settle must be 'on-success-refund', 'on-failure-refund' or a function .* not \"on-success\"",
    ],
    [null, 'settle must be .* not null'],
    [true, 'settle must be .* not true'],
  ])('%p is refused at boot', async (settle, message) => {
    @Controller()
    class Named {
      @Get()
      @Limit('ten', { settle })
      named(): string {
        return '';
      }
    }
    const { code, message: told } = await refusalOf({ policies: { ten } }, Named);
    expect(code).toBe('INVALID_SETTLE');
    expect(told).toMatch(new RegExp(`^@RateLimit at Named.named: ${message}`));
    @Controller()
    class Inline {
      @Get()
      @Limit({ ...ten, settle })
      inline(): string {
        return '';
      }
    }
    expect((await refusalOf({}, Inline)).message).toMatch(
      new RegExp(`^@RateLimit at Inline.inline: ${message}`),
    );
  });
});
