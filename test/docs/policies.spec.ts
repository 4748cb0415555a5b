import { readFile } from 'node:fs/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { until } from '../../tools/until.js';
import { adapters, type RunningApp, startApp, type StartOptions } from '../support/app.js';
import { members } from '../support/fields.js';
import { little, statuses } from '../support/little.js';
import { json } from '../support/sample.js';
import { LlmController } from './policies/llm.controller.js';
import { policies } from './policies/policies.js';
import { ShadowReport } from './policies/shadow-report.js';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFile(new URL(path, root), 'utf8');
const page = await read('docs/policies.md');

@Controller('things')
class Things {
  @Get()
  list(): string {
    return 'things';
  }
}

test('the examples are the files that are run here', async () => {
  const examples = [...page.matchAll(/^<!-- (\S+\.ts).*-->\n\n```ts\n([^]*?)^```$/gm)];
  expect(examples).toHaveLength([...page.matchAll(/^```ts$/gm)].length);
  for (const [, path, text] of examples) expect(text).toBe(await read(path!));
});

describe.each(adapters)('the examples on %s', (adapter) => {
  let app: RunningApp;
  const said: string[] = [];

  beforeEach(async () => {
    said.length = 0;
    const nothing = () => undefined;
    const log = (line: string, from: string) => void (from === 'Shadow' && said.push(line));
    const options: StartOptions = {
      trustProxy: ['127.0.0.1'],
      module: (builder) => builder.setLogger({ log, warn: nothing, error: nothing }),
    };
    const limits = {
      policies,
      everyRoute: ['api', 'api-soon'],
      identify: { user: () => 'ada' },
      clock: () => 1_000_000_000_000,
    };
    const module = little({ limits, controllers: [LlmController, Things], providers: [ShadowReport] });
    app = await startApp(module, adapter, options);
  });

  const logIn = (password: string) => app.fetch('/login', json('POST', { username: 'ada', password }));

  test('log-ins that succeed take nothing, and those that fail are refused and blocked in the end', async () => {
    for (let count = 0; count < 6; count += 1) expect((await logIn('correct horse')).status).toBe(201);
    await until('all are given back', async () => {
      const fields = members(await logIn('correct horse'), 'RateLimit');
      return fields.find(({ name }) => name === 'login')?.['r'] === 4;
    });
    const seen: (string | null)[] = [];
    while (seen.length < 3) {
      const response = await logIn('battery staple');
      if (response.status === 429) seen.push(response.headers.get('retry-after'));
      else expect(response.status).toBe(401);
    }
    expect(seen).toEqual(['60', '60', '900']);
  });

  test('a question takes as many tokens as its answer has', async () => {
    const ask = async () => {
      const response = await app.fetch('/ask', json('POST', { question: 'that' }));
      const quota = members(response, 'RateLimit').find(({ name }) => name === 'post-ask');
      return [response.status, quota?.['r']];
    };
    expect(await ask()).toEqual([201, 99_000]);
    await until('the first is settled', async () => {
      const [, left] = await ask();
      return (left as number) > 98_900;
    });
  });

  test('the office is not limited, a network is not let in, and the shadow says whom it would have refused', async () => {
    const from = (address: string): RequestInit => ({ headers: { 'x-forwarded-for': address } });
    expect(await statuses(app, '/things', 1, from('203.0.113.7'))).toEqual([403]);
    const office = await app.fetch('/things', from('192.0.2.7'));
    expect([office.status, members(office, 'RateLimit')]).toEqual([200, []]);
    expect(said).toEqual([]);
    expect(await statuses(app, '/things', 12, from('198.51.100.7'))).toEqual(Array(12).fill(200));
    expect(said).toEqual(Array(2).fill('api-soon would have refused for 6000 ms'));
  });
});
