import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Controller, Get, Module, Post, type Type } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import type { Redis } from 'iovalkey';
import { key, type RateLimitContext, type RateLimitModuleOptions } from 'nestjs-valkey-rate-limit';
import { adapters, type AdapterName, startApp } from '../support/app.js';
import { lookInto } from '../support/client.js';
import { LimiterLogs } from '../support/logs.js';
import { Limit, little, LONG, startLittle, statuses } from '../support/little.js';
import { ownValkey } from '../support/valkey.js';

const two = { algorithm: 'fixed-window', limit: 2, window: LONG } as const;

const policies = {
  tenant: { ...two, key: key.tenant() },
  'api-key': { ...two, key: key.apiKey() },
  bearer: { ...two, key: key.apiKey({ header: 'authorization' }) },
  item: { ...two, key: key.param('id') },
  route: { ...two, key: key.route() },
  'name-1': { ...two, limit: 100, key: key.body('name') },
  'name-2': { ...two, key: key.body('name') },
} satisfies RateLimitModuleOptions['policies'];

const limits = {
  policies,
  secret: 'a secret for the tests',
  identify: { tenant: ({ request }: RateLimitContext) => request.headers['x-tenant'] as string },
  deadline: '5s',
} satisfies RateLimitModuleOptions;

@Controller()
class Things {
  @Get('tenant')
  @Limit('tenant')
  tenant(): string {
    return '';
  }

  @Get('api-key')
  @Limit('api-key')
  apiKey(): string {
    return '';
  }

  @Get('bearer')
  @Limit('bearer')
  bearer(): string {
    return '';
  }

  @Get('items/:id')
  @Limit('item')
  item(): string {
    return '';
  }

  @Get('items/:id/parts')
  @Limit('route')
  parts(): string {
    return '';
  }

  @Post('names')
  @Limit('name-1', 'name-2')
  name(): string {
    return '';
  }
}

/** A controller whose class and method are called alike wherever it is made. */
function same(path: string): Type {
  @Controller(path)
  class Same {
    @Get()
    @Limit('route')
    list(): string {
      return path;
    }
  }
  return Same;
}

const saying = (field: string, value: string) => ({ headers: { [field]: value } });
const named = (name: unknown) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ name }),
});

describe.each(adapters)('keys on %s:', (adapter) => {
  const start = () => startLittle(adapter, limits, [Things]);

  test('each tenant is counted apart, and all requests without one together', async () => {
    const app = await start();
    expect(await statuses(app, '/tenant', 3, saying('x-tenant', 'acme'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/tenant', 3, saying('x-tenant', 'umbrella'))).toEqual([200, 200, 429]);
    expect(await statuses(app, '/tenant', 3)).toEqual([200, 200, 429]);
  });

  test.each([
    ['/api-key', 'x-api-key', ''],
    ['/bearer', 'authorization', 'Bearer '],
  ])(
    '%s: each API key is counted apart, and all requests without one together',
    async (path, field, scheme) => {
      const app = await start();
      expect(await statuses(app, path, 3, saying(field, `${scheme}one`))).toEqual([200, 200, 429]);
      expect(await statuses(app, path, 3, saying(field, `${scheme}two`))).toEqual([200, 200, 429]);
      expect(await statuses(app, path, 2)).toEqual([200, 200]);
      expect(await statuses(app, path, 1, saying(field, scheme))).toEqual([429]);
    },
  );

  test('more than one API key in a request is none', async () => {
    const app = await start();
    expect(await statuses(app, '/api-key', 2)).toEqual([200, 200]);
    for (const junk of ['a', 'b']) {
      const headers = new Headers({ 'x-api-key': 'one' });
      headers.append('x-api-key', junk);
      expect(await statuses(app, '/api-key', 1, { headers })).toEqual([429]);
    }
  });

  test('each parameter of a path is counted apart, however it is written', async () => {
    const app = await start();
    expect(await statuses(app, '/items/7', 2)).toEqual([200, 200]);
    expect(await statuses(app, '/items/%37', 1)).toEqual([429]);
    expect(await statuses(app, '/items/8?id=7', 2)).toEqual([200, 200]);
    expect(await statuses(app, '/items/constructor', 3)).toEqual([200, 200, 429]);
  });

  test('a route is one, whatever its parameters are', async () => {
    const app = await start();
    expect(await statuses(app, '/items/7/parts', 1)).toEqual([200]);
    expect(await statuses(app, '/items/8/parts', 2)).toEqual([200, 429]);
    expect(await statuses(app, '/items/9/parts?a=b', 1, { method: 'HEAD' })).toEqual([429]);
  });

  test('two controllers of the same names on different paths are two routes', async () => {
    const app = await startLittle(adapter, limits, [same('red'), same('blue')]);
    expect(await statuses(app, '/red', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/blue', 3)).toEqual([200, 200, 429]);
  });

  test('two controllers of the same names and path are two routes where RouterModule parts them', async () => {
    @Module({ controllers: [same('users')] })
    class Admin {}
    @Module({ controllers: [same('users')] })
    class Public {}
    const mounted = RouterModule.register([
      { path: 'admin', module: Admin },
      { path: 'public', module: Public },
    ]);
    const app = await startApp(little({ limits, imports: [Admin, Public, mounted] }), adapter);
    expect(await statuses(app, '/admin/users', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/public/users', 3)).toEqual([200, 200, 429]);
  });
});

describe('keys in Valkey', () => {
  let url: string;
  let valkey: Redis;

  beforeAll(async () => {
    ({ url } = await ownValkey());
    valkey = lookInto(url);
  });
  beforeEach(() => valkey.flushall());

  const start = (adapter: AdapterName, controllers: Type[] = [Things]) =>
    startLittle(adapter, { ...limits, valkey: url }, controllers);
  const keys = async () => (await valkey.keys('*')).toSorted();

  test('are readable', async () => {
    const app = await start('fastify', [Things, same('red')]);
    await app.fetch('/tenant', saying('x-tenant', 'acme'));
    await app.fetch('/tenant');
    await app.fetch('/items/7');
    await app.fetch('/items/7/parts');
    await app.fetch('/red');
    await app.fetch('/names', named('ada@example.org'));
    await app.fetch('/api-key', saying('x-api-key', 'abc'));
    expect(await keys()).toEqual(
      [
        'rl:{?}:tenant:fw',
        'rl:{7}:item:fw',
        'rl:{GET:/items/:id/parts}:route:fw',
        'rl:{GET:/red}:route:fw',
        'rl:{_IarIw_EL1IvJSh8oa4vpA}:api-key:fw',
        'rl:{acme}:tenant:fw',
        'rl:{ada@example.org}:name-1:fw',
        'rl:{ada@example.org}:name-2:fw',
      ].toSorted(),
    );
  });

  test('of a route are the same in every instance, and other than those of another route', async () => {
    const apps = [
      await start('fastify', [same('red'), same('blue')]),
      await start('express', [same('blue'), same('red')]),
    ] as const;
    expect(await statuses(apps[0], '/red', 1)).toEqual([200]);
    expect(await statuses(apps[1], '/red', 2)).toEqual([200, 429]);
    expect(await statuses(apps[0], '/blue', 2)).toEqual([200, 200]);
    expect(await statuses(apps[1], '/blue', 1)).toEqual([429]);
  });

  test.each(adapters)(
    'are short and their subject is the hash tag, whatever a client sends on %s',
    async (adapter) => {
      const app = await start(adapter);
      const strange = [
        '{',
        '}',
        '{}',
        '{a}',
        'a}:name-1:fw{b',
        'a:b',
        'a b',
        'a\nb\r\n*1',
        '\0',
        '😀',
        '\ud83d',
        '?',
        '#',
        '%007b',
        'a'.repeat(64),
        'a'.repeat(65),
        'a'.repeat(10_240),
        `${'a'.repeat(10_239)}b`,
        '😀'.repeat(2_560),
        '{'.repeat(10_240),
      ];
      for (const name of strange) {
        expect([name, await statuses(app, '/names', 3, named(name))]).toEqual([name, [201, 201, 429]]);
      }
      const seen = await keys();
      expect(seen).toHaveLength(strange.length * 2);
      for (const each of seen) expect(each).toMatch(/^rl:\{[!-z|~]{1,64}\}:name-[12]:fw$/);
      expect(new Set(seen.map((each) => each.replace(/:name-.*/, ''))).size).toBe(strange.length);
      for (const each of seen) expect(await valkey.memory('USAGE', each)).toBeLessThanOrEqual(200);
    },
  );

  test.each(adapters)('hold nothing of an API key, nor does anything else on %s', async (adapter) => {
    const secrets = ['sk_live_0123456789', 'tok.en/with+base64=='];
    const logs = new LimiterLogs();
    const app = await startLittle(adapter, { ...limits, valkey: url }, [Things], { module: logs.install });
    const watching = await valkey.monitor();
    const heard: string[] = [];
    watching.on('monitor', (_: string, command: string[]) => heard.push(command.join(' ')));
    const told: string[] = [];
    for (const [path, field, value] of [
      ['/api-key', 'x-api-key', secrets[0]!],
      ['/bearer', 'authorization', `Bearer ${secrets[1]!}`],
    ] as const) {
      for (let count = 0; count < 3; count += 1) {
        const response = await app.fetch(path, saying(field, value));
        told.push(JSON.stringify([...response.headers]), await response.text());
      }
    }
    await valkey.echo('the last command');
    while (!heard.at(-1)?.includes('the last command'))
      await new Promise((resolve) => setTimeout(resolve, 5));
    watching.disconnect();
    expect(heard.filter((command) => command.startsWith('evalsha'))).not.toEqual([]);
    expect(await keys()).toHaveLength(2);
    const everything = [...heard, ...told, ...logs.lines, ...(await keys())].join('\n');
    for (const secret of secrets) expect(everything).not.toContain(secret);
  });
});
