import { inspect } from 'node:util';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { Redis } from 'iovalkey';
import { RateLimitModule } from 'nestjs-valkey-rate-limit';
import { lookInto } from '../support/client.js';
import { Limit, little, startLittle } from '../support/little.js';
import { refusal, refusalOf } from '../support/refusal.js';
import { ownValkey } from '../support/valkey.js';

jest.setTimeout(15_000);

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** Runs a program with the built package to its end, and gives its exit code and what it wrote. */
async function run(program: string): Promise<[code: unknown, output: string]> {
  const index = fileURLToPath(new URL('../../libs/rate-limit/dist/index.js', import.meta.url));
  if (!existsSync(index)) throw new Error(`${index} is missing: run "npm run build" first.`);
  const before = `
    import { Module } from '@nestjs/common';
    import { NestFactory } from '@nestjs/core';
    import { RateLimitModule } from ${JSON.stringify(index)};
    class Root {}
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', before + program], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as unknown[];
  return [code, output];
}

const nothing = () => Promise.resolve();
const shapeOfClient = { evalsha: nothing, eval: nothing, del: nothing };

@Controller()
class Misspelt {
  @Get()
  @Limit('appi')
  list(): string {
    return '';
  }
}

describe('a Valkey is refused at boot', () => {
  test.each([
    ['an empty text', ''],
    ['no URL', 'nonsense'],
    ['no scheme', '127.0.0.1:6379'],
    ['a host instead of a scheme', 'localhost:6379'],
    ['another scheme', 'http://127.0.0.1:6379'],
    ['a port that is none', 'valkey://127.0.0.1:99999'],
    ['settings in the URL', 'valkey://127.0.0.1:6379?family=6'],
    ['no host', 'valkey://'],
    ['a password with a bare percent sign', 'valkey://:100%@127.0.0.1:6379'],
    ['no host but a port', 'valkey:6379'],
    ['no slashes', 'valkey:127.0.0.1:6379'],
    ['a database that is no number', 'valkey://127.0.0.1:6379/orders'],
    ['a database that is negative', 'valkey://127.0.0.1:6379/-1'],
    ['a fragment', 'valkey://127.0.0.1:6379/0#1'],
    ['null', null],
    ['false', false],
    ['a number', 6379],
    ['an object that is no client', {}],
    ["a client's options", { host: '127.0.0.1', port: 6379 }],
    ['a list of addresses', ['valkey://127.0.0.1:6379']],
    ['a URL object', new URL('valkey://127.0.0.1:6379')],
    ["the client's class", Redis],
    ['a promise of a client', Promise.resolve({})],
  ])('that is %s', async (_, valkey) => {
    const error = await refusalOf({ valkey });
    expect(error).toMatchObject({ code: 'INVALID_VALKEY', where: 'RateLimitModule' });
    expect(error.message).toContain('valkey must be');
    expect(error.message).toMatch(/valkey:\/\/\S*127\.0\.0\.1:6379/);
  });

  test.each([
    ['a URL that is none', { url: 6379 }, 'INVALID_VALKEY', 'valkey url must be a URL'],
    ['a foreign option', { url: 'valkey://127.0.0.1', password: 'x' }, 'UNKNOWN_OPTION', '"password"'],
    ['TLS for a URL without', { url: 'valkey://127.0.0.1', tls: {} }, 'INVALID_TLS', "Write 'valkeys://'"],
    ['TLS that is true', { url: 'valkeys://127.0.0.1', tls: true }, 'INVALID_TLS', 'such as { ca }'],
    ['a Cluster that is no list', { cluster: 'valkey://127.0.0.1' }, 'INVALID_CLUSTER', 'a list of URLs'],
    ['a Cluster without nodes', { cluster: [] }, 'INVALID_CLUSTER', 'a list of URLs'],
    [
      'a node that is no URL',
      { cluster: ['valkey://a', 'b'] },
      'INVALID_VALKEY',
      'valkey cluster[1] must be',
    ],
    ['a database in a Cluster', { cluster: ['valkey://a/3'] }, 'INVALID_CLUSTER', 'has only 0, not 3'],
    [
      'nodes with two passwords',
      { cluster: ['valkey://:one@a', 'valkey://:two@b'] },
      'INVALID_CLUSTER',
      'cluster[1] has another scheme, user, password',
    ],
    ['Sentinels of nothing', { sentinels: ['valkey://a'] }, 'INVALID_VALKEY', 'valkey primary must be a URL'],
    [
      'a primary with an address',
      { sentinels: ['valkey://a'], primary: 'valkey://10.0.0.1:6379' },
      'INVALID_PRIMARY',
      'the name of what the Sentinels watch',
    ],
    [
      'numbers as texts',
      { ...shapeOfClient, options: { stringNumbers: true } },
      'UNFIT_CLIENT',
      'stringNumbers: true',
    ],
  ])('that is %s', async (_, valkey, code, problem) => {
    const error = await refusalOf({ valkey });
    expect(error.code).toBe(code);
    expect(error.message).toContain(problem);
    expect(error.message).not.toMatch(/one@|two@/);
  });

  test.each([
    ['user and scheme', 'http://ada:hunter2@127.0.0.1:6379'],
    ['a broken port', 'valkey://ada:hunter2@127.0.0.1:99999'],
    ['no slashes', 'valkey:ada:hunter2@127.0.0.1:6379'],
    ['no scheme', 'ada:hunter2@127.0.0.1:6379'],
    ['settings', 'valkey://ada:hunter2@127.0.0.1:6379?family=6'],
    ['a password among the settings', 'valkey://127.0.0.1:6379?password=hunter2'],
    ['a question mark in the password', 'valkey://ada:what?hunter2@127.0.0.1:6379'],
    ['a hash in the password', 'valkey://ada:no#hunter2@127.0.0.1:6379'],
  ])('without telling the password of a URL with %s', async (_, valkey) => {
    const error = await refusalOf({ valkey });
    // Everything that a log would show of it: message, members, stack and cause.
    expect(inspect(error, { depth: 5 })).not.toContain('hunter2');
  });
});

test('a database that the server does not have is refused, and never another one used', async () => {
  const { url } = await ownValkey();
  const never = { algorithm: 'fixed-window', limit: 5, window: '3650d' } as const;
  @Controller()
  class Shop {
    @Get()
    @Limit(never)
    list(): string {
      return '';
    }
  }
  const boot = startLittle('fastify', { valkey: `${url}/99`, onStoreFailure: 'closed', deadline: '1s' }, [
    Shop,
  ]);
  await expect(boot).rejects.toMatchObject({ code: 'NO_DATABASE' });
  expect(await lookInto(url).dbsize()).toBe(0);
});

describe('a boot that failed leaves no connection', () => {
  const api = { algorithm: 'fixed-window', limit: 5, window: '1m' } as const;
  let url: string;
  let client: Redis;

  beforeAll(async () => {
    ({ url } = await ownValkey());
    client = lookInto(url);
  });

  const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  const ours = async () => {
    const list = (await client.client('LIST')) as string;
    return list.split('\n').filter((line) => line.includes('name=nestjs-valkey-rate-limit')).length;
  };

  test('and one that worked has one, until it is closed', async () => {
    const app = await startLittle('fastify', { valkey: url, policies: { api } }, []);
    expect(await ours()).toBe(1);
    await app.close();
    while ((await ours()) > 0); // the server learns of it a moment later
  });

  test.each([
    ['a wrong option', () => refusalOf({ valkey: url, policies: { api: { ...api, limit: '10' } } })],
    ['an option that is read after the URL', () => refusalOf({ valkey: url, prefix: '' })],
    ['an unknown policy at a handler', () => refusalOf({ valkey: url, policies: { api } }, Misspelt)],
    [
      'two modules',
      () =>
        refusal(
          little({
            limits: { valkey: url },
            imports: [RateLimitModule.forRoot({ valkey: url })],
          }),
        ),
    ],
  ])('after %s', async (_, boot) => {
    const before = Number(/total_connections_received:(\d+)/.exec(await client.info('stats'))![1]);
    const socketsBefore = sockets();
    await boot();
    expect(await ours()).toBe(0);
    const after = Number(/total_connections_received:(\d+)/.exec(await client.info('stats'))![1]);
    expect(after).toBe(before);
    expect(sockets()).toBe(socketsBefore);
  });

  test('and does not keep its process alive', async () => {
    const [code, output] = await run(`
      const valkey = ${JSON.stringify(url)};
      Module({ imports: [RateLimitModule.forRoot({ valkey }), RateLimitModule.forRoot({ valkey })] })(Root);
      try {
        await NestFactory.create(Root, { abortOnError: false, logger: false }).then((app) => app.init());
      } catch (error) {
        console.log(error.code);
      }
    `);
    expect([code, output]).toEqual([0, 'TWO_MODULES\n']);
  });
});

test('an application that is closed while its Valkey is down lets its process end at once', async () => {
  const server = await ownValkey();
  await server.stop();
  const [code, output] = await run(`
    Module({ imports: [RateLimitModule.forRoot({ valkey: ${JSON.stringify(server.url)} })] })(Root);
    const app = await NestFactory.createApplicationContext(Root, { logger: false });
    await app.close();
    const closed = performance.now();
    process.once('exit', () => console.log(Math.round(performance.now() - closed)));
  `);
  expect(code).toBe(0);
  expect(Number(output)).toBeLessThan(1_000); // milliseconds
});
