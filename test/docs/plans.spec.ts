import { readFile } from 'node:fs/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { Controller, Get, UseGuards } from '@nestjs/common';
import { adapters, type RunningApp, startApp, type StartOptions } from '../support/app.js';
import { members } from '../support/fields.js';
import { Limit, startLittle, statuses } from '../support/little.js';
import { AppModule } from './plans/app.module.js';
import { device } from './plans/device.js';
import { LogIn } from './plans/log-in.guard.js';
import { Tenants } from './plans/tenants.module.js';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFile(new URL(path, root), 'utf8');
const page = await read('docs/plans.md');

/** What stands between fences, after the language that is written there. */
const blocks = (language: string) =>
  [...page.matchAll(/^```(.*)\n([^]*?)^```$/gm)].flatMap(([, its, text]) =>
    its === language ? [text!] : [],
  );

const by = (who: string) => ({ headers: { authorization: who } });
const limits = (response: Response) => members(response, 'RateLimit-Policy').map(({ name, q }) => [name, q]);

test('the examples are the files that are run here', async () => {
  const examples = [...page.matchAll(/^<!-- (\S+\.ts).*-->\n\n```ts\n([^]*?)^```$/gm)];
  expect(examples).toHaveLength(blocks('ts').length);
  for (const [, path, text] of examples) expect(text).toBe(await read(path!));
});

test('the limits of the routes are said as the page says', async () => {
  const lines: string[] = [];
  const debug = (line: string, from: string) => from === 'RateLimit' && lines.push(line);
  const nothing = () => {};
  const module: StartOptions['module'] = (builder) =>
    builder.setLogger({ log: nothing, warn: nothing, error: nothing, debug });
  await startApp(AppModule, 'fastify', { module });
  const [listed] = blocks('');
  expect(lines).toEqual(expect.arrayContaining(listed!.trim().split('\n')));
});

describe.each(adapters)('the example on %s', (adapter) => {
  let app: RunningApp;
  let tenants: Tenants;

  beforeEach(async () => {
    app = await startApp(AppModule, adapter);
    tenants = app.app.get(Tenants, { strict: false });
  });

  test('limits each tenant by its plan, behind the guard, and looks it up once', async () => {
    tenants.plans.set('acme', 'pro').set('umbrella', 'staff');
    expect(limits(await app.fetch('/reports', by('ada@acme')))).toEqual([
      ['address', 600],
      ['api', 600],
    ]);
    expect(limits(await app.fetch('/reports', by('bob@umbrella')))).toEqual([['address', 600]]);
    expect(limits(await app.fetch('/reports', by('eve@nowhere')))).toEqual([
      ['address', 600],
      ['api', 60],
    ]);
    expect(tenants.looked).toBe(3);
    await app.fetch('/reports', by('grace@acme'));
    expect(tenants.looked).toBe(3);
    const refused = await app.fetch('/reports');
    expect([refused.status, members(refused, 'RateLimit')[0]]).toMatchObject([
      401,
      { name: 'address', r: 595 },
    ]);
  });

  test('goes by the default plan while the database is down', async () => {
    tenants.plans.set('acme', 'pro');
    tenants.down = true;
    expect(limits(await app.fetch('/reports', by('ada@acme')))).toContainEqual(['api', 60]);
    tenants.down = false;
    expect(limits(await app.fetch('/reports', by('ada@acme')))).toContainEqual(['api', 600]);
  });

  test('gives one tenant another limit, lists it and takes it back', async () => {
    const headers = { 'x-admin': 'yes' };
    const body = JSON.stringify({ limit: 5_000 });
    await app.fetch('/admin/limits/acme', {
      method: 'PUT',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    });
    expect(limits(await app.fetch('/reports', by('ada@acme')))).toContainEqual(['api', 5_000]);
    expect(await (await app.fetch('/admin/limits', { headers })).json()).toMatchObject([
      { key: 'acme', limit: 5_000 },
    ]);
    await app.fetch('/admin/limits/acme', { method: 'DELETE', headers });
    expect(limits(await app.fetch('/reports', by('ada@acme')))).toContainEqual(['api', 60]);
  });

  test('counts by device behind the guard', async () => {
    @Controller()
    @UseGuards(LogIn)
    class Devices {
      @Get('devices')
      @Limit({ algorithm: 'fixed-window', limit: 2, window: '3650d', key: device })
      list(): string {
        return '';
      }
    }
    const little = await startLittle(adapter, { authentication: 'guards' }, [Devices]);
    const on = (name: string) => ({ headers: { ...by('ada@acme').headers, 'x-device': name } });
    expect(await statuses(little, '/devices', 3, on('phone'))).toEqual([200, 200, 429]);
    expect(await statuses(little, '/devices', 1, on('desk'))).toEqual([200]);
  });
});
