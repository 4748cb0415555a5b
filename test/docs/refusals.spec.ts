import { readFile } from 'node:fs/promises';
import { describe, expect, jest, test } from '@jest/globals';
import { Controller, Get, Post } from '@nestjs/common';
import { RequestLimiter } from '../../libs/rate-limit/src/nest/request-limiter.js';
import { adapters } from '../support/app.js';
import { Limit, startLittle } from '../support/little.js';
import { options } from './refusals/limits.js';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFile(new URL(path, root), 'utf8');
const page = await read('docs/refusals.md');

@Controller()
class Routes {
  @Get('search')
  @Limit('search')
  search(): string {
    return 'found';
  }

  @Post('login')
  @Limit('search', 'account')
  logIn(): string {
    return 'in';
  }
}

test('the example is the file that is run here', async () => {
  const [, path, text] = /^<!-- (\S+\.ts).*-->\n\n```ts\n([^]*?)^```$/m.exec(page)!;
  expect(text).toBe(await read(path!));
});

describe.each(adapters)('on %s', (adapter) => {
  const start = async () => {
    const app = await startLittle(adapter, { ...options, clock: () => 1_000_000_000_000 }, [Routes]);
    const begin = jest.spyOn(app.app.get(RequestLimiter), 'begin');
    const search = () => app.fetch('/search');
    for (let count = 0; count < 60; count += 1) await search();
    return { app, search, begin };
  };

  test('a refusal is what the page shows', async () => {
    const { search } = await start();
    const [head, body] = /^```http\n([^]*?)\n\n(.*)\n```$/m.exec(page)!.slice(1) as [string, string];
    for (const response of [await search(), await search()]) {
      expect(response.status).toBe(429);
      for (const line of head.split('\n').slice(1)) {
        const [name, value] = line.split(': ') as [string, string];
        expect(`${name}: ${response.headers.get(name)}`).toBe(`${name}: ${value}`);
      }
      expect(await response.text()).toBe(body);
    }
  });

  test('a route whose key is the address is refused before Nest, and one with a key in the body is not', async () => {
    const { app, search, begin } = await start();
    // The guard learns from the second where it was to go.
    for (let count = 0; count < 2; count += 1) await search();
    begin.mockClear();
    await search();
    expect(begin).not.toHaveBeenCalled();
    const logIn = () => app.fetch('/login', { method: 'POST', body: 'username=ada' });
    expect((await logIn()).status).toBe(429);
    expect(begin).toHaveBeenCalledTimes(1);
  });
});
