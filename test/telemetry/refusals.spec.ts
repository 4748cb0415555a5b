import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { key, RateLimiter } from 'nestjs-valkey-rate-limit';
import { RequestLimiter } from '../../libs/rate-limit/src/nest/request-limiter.js';
import { until } from '../../tools/until.js';
import { adapters } from '../support/app.js';
import { LimiterLogs } from '../support/logs.js';
import { Limit, LONG, type LooseOptions, startLittle, statuses } from '../support/little.js';
import { ownValkey } from '../support/valkey.js';

const releases: (() => void)[] = [];
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

  @Get('two')
  @Limit('two')
  two(): string {
    return '';
  }

  @Get('own')
  @Limit('own')
  own(): string {
    return '';
  }

  @Get('listed')
  @Limit('listed')
  listed(): string {
    return '';
  }

  @Get('mixed')
  @Limit('listed', 'shadow-list')
  mixed(): string {
    return '';
  }

  @Get('shadow')
  @Limit('shadow', 'shadow-list')
  shadow(): string {
    return '';
  }
}

const client = key.header('x-client');
const one = { algorithm: 'fixed-window', limit: 1, window: LONG, key: client } as const;
const banned = ({ request }: { request: { headers: object } }) => 'x-banned' in request.headers;
const policies = {
  one,
  two: { ...one, limit: 2 },
  // A client chooses its key.
  own: {
    ...one,
    key: ({ request }: { request: { headers: Record<string, unknown> } }) =>
      decodeURIComponent(String(request.headers['x-key'])),
  },
  listed: { ...one, deny: banned },
  shadow: { ...one, mode: 'shadow' },
  'shadow-list': { ...one, mode: 'shadow', deny: banned },
} as const;

const as = (name: string, fields: Record<string, string> = {}) => ({
  headers: { 'x-client': name, ...fields },
});
const ada = as('ada');
const called = (name: string) => ({ headers: { 'x-key': encodeURIComponent(name) } });

/** A line, however many seconds (N) it sums up. */
function logged(text: string): unknown {
  const pattern = text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replace(' N s', String.raw` \d+ s`);
  return expect.stringMatching(new RegExp(`^log: ${pattern}$`));
}

describe.each(adapters)('the log on %s', (adapter) => {
  let logs: LimiterLogs;
  beforeEach(() => {
    logs = new LimiterLogs();
  });

  const start = (telemetry: LooseOptions['telemetry'] = { refusals: '1s' }, limits: LooseOptions = {}) =>
    startLittle(
      adapter,
      { policies: policies as never, ...(telemetry && { telemetry }), ...limits },
      [Routes],
      {
        module: logs.install,
      },
    );
  const lines = () => logs.lines.filter((line) => line.includes('refused'));
  const sumOf = (policy: string) =>
    lines().reduce((sum, each) => {
      const [, count] = new RegExp(`^log: "${policy}" refused (\\d+) in`).exec(each) ?? [];
      return sum + Number(count ?? 0);
    }, 0);

  test('sums up who was refused, in one line for each policy and interval', async () => {
    const app = await start();
    const begin = jest.spyOn(app.app.get(RequestLimiter), 'begin');
    const begun = performance.now();
    expect(await statuses(app, '/one', 13, ada)).toEqual([200, ...Array.from({ length: 12 }, () => 429)]);
    await statuses(app, '/two', 5, ada);
    // Most of them were refused before Nest.
    expect(begin.mock.calls.length).toBeLessThan(10);
    // On a machine that is very busy an interval may end before all have come.
    const isSoon = performance.now() - begun < 900;
    if (isSoon) expect(lines()).toEqual([]);
    await until('all are told', () => sumOf('one') === 12 && sumOf('two') === 3, 5_000);
    if (isSoon) {
      expect(lines()).toEqual([
        logged('"one" refused 12 in N s: 12 denied.'),
        logged('"two" refused 3 in N s: 3 denied.'),
      ]);
    }
    const before = lines().length;
    // The next interval begins with the next refusal, and counts anew.
    await statuses(app, '/one', 2, ada);
    await until('they are told', () => sumOf('one') === 14, 5_000);
    expect(lines().length - before).toBeLessThanOrEqual(2);
    await app.close();
    expect([sumOf('one'), sumOf('two')]).toEqual([14, 3]);
  });

  test('tells whom only where that was asked for, three at the most, the most often first', async () => {
    const app = await start({ refusals: '1m', exposeKeys: true });
    for (const [name, times] of [
      ['ada', 3],
      ['bob', 7],
      ['cyd', 5],
      ['dan', 4],
    ] as const) {
      await statuses(app, '/one', times, as(name));
    }
    await app.close();
    expect(lines()).toEqual([
      logged('"one" refused 15 in N s: 15 denied. Most often: "bob" (6), "cyd" (4), "dan" (3).'),
    ]);
    logs.lines.length = 0;
    const silent = await start({ refusals: '1m' });
    await statuses(silent, '/one', 5, as('bob'));
    await silent.close();
    expect(lines()).toEqual([logged('"one" refused 4 in N s: 4 denied.')]);
  });

  test('a client cannot begin a line of its own, nor make one long', async () => {
    const app = await start({ refusals: '1m', exposeKeys: true });
    const forged = 'x\r\n[Nest] 1 - LOG "one" refused nobody\u001B[2K\u0000';
    await statuses(app, '/own', 3, called(forged));
    await statuses(app, '/own', 2, called('y'.repeat(5_000)));
    await app.close();
    const [line, ...others] = lines();
    expect(others).toEqual([]);
    // oxlint-disable-next-line no-control-regex
    expect(line).not.toMatch(/[\u0000-\u001F]/);
    expect(line).toContain(JSON.stringify(forged.slice(0, 64)));
    expect(line!.length).toBeLessThan(300);
  });

  // A line separator and "next line" end lines for viewers of logs (Unicode TR 13), and 9B begins what terminals obey.
  test.each([0x2028, 0x2029, 0x85, 0x9b, 0x7f])('nor with U+%d', async (code) => {
    const app = await start({ refusals: '1m', exposeKeys: true });
    const forged = `x${String.fromCodePoint(code)}LOG forged`;
    await statuses(app, '/own', 2, called(forged));
    await app.close();
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).not.toContain(String.fromCodePoint(code));
  });

  test('tells what became of them, each by its outcome', async () => {
    const valkey = await ownValkey();
    const app = await start(
      { refusals: '1m', exposeKeys: true },
      { valkey: valkey.url, deadline: '5s', onStoreFailure: 'closed' },
    );
    expect(await statuses(app, '/listed', 2, ada)).toEqual([200, 429]);
    expect(await statuses(app, '/listed', 3, as('eve', { 'x-banned': '1' }))).toEqual([403, 403, 403]);
    await valkey.stop();
    await until('it is missed', async () => (await app.fetch('/two', as('fay'))).status === 503);
    expect(await statuses(app, '/listed', 2, as('gus'))).toEqual([503, 503]);
    await app.close();
    const [listed, two] = lines().toSorted((a, b) => (a < b ? -1 : 1));
    expect(listed).toMatch(
      /^log: "listed" refused 6 in \d+ s: 1 denied, 3 forbidden, 2 unavailable\. Most often: "gus" \(2\), "ada" \(1\)\.$/,
    );
    expect(two).toMatch(/^log: "two" refused \d+ in \d+ s: \d+ unavailable\. Most often: "fay" \(\d+\)\.$/);
  });

  test('tells nothing of policies in shadow, of who may pass, and of what no request asked for', async () => {
    const app = await start({ refusals: '1m' });
    expect(await statuses(app, '/shadow', 3, as('ada', { 'x-banned': '1' }))).toEqual([200, 200, 200]);
    expect(await statuses(app, '/shadow', 3, ada)).toEqual([200, 200, 200]);
    expect(await statuses(app, '/two', 2, ada)).toEqual([200, 200]);
    const limiter = app.app.get(RateLimiter);
    for (let count = 0; count < 3; count += 1) await limiter.consume('one' as never, { key: 'ada' });
    // Nor beside one that refuses.
    expect(await statuses(app, '/mixed', 2, as('ada', { 'x-banned': '1' }))).toEqual([403, 403]);
    await app.close();
    expect(lines()).toEqual([logged('"listed" refused 2 in N s: 2 forbidden.')]);
  });

  test('tells nothing where it is off', async () => {
    const app = await start({ refusals: 'off', exposeKeys: true });
    expect(await statuses(app, '/one', 5, ada)).toEqual([200, 429, 429, 429, 429]);
    await app.close();
    expect(lines()).toEqual([]);
  });

  test('tells what is left when the application is closed, by default as well', async () => {
    const app = await start({});
    await statuses(app, '/one', 1_001, ada);
    expect(lines()).toEqual([]);
    await app.close();
    expect(lines()).toEqual([expect.stringMatching(/^log: "one" refused 1,000 in \d+ s: 1,000 denied\.$/)]);
  });
});
