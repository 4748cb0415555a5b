import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, jest, test } from '@jest/globals';
import { startProcess } from './support/processes.js';
import { ownValkey } from './support/valkey.js';

jest.setTimeout(20_000);

const MAIN = fileURLToPath(new URL('../apps/api/dist/main.js', import.meta.url));

/** Starts the built sample, in memory unless it is told otherwise. */
const startMain = (env: Record<string, string> = {}) =>
  startProcess(MAIN, [], { VALKEY_URL: undefined, ...env });

async function endOf(child: ChildProcess): Promise<[code: number | null, signal: string | null]> {
  if (child.exitCode !== null || child.signalCode !== null) return [child.exitCode, child.signalCode];
  return (await once(child, 'exit')) as [number | null, string | null];
}

async function seven(url: string): Promise<number[]> {
  const seen: number[] = [];
  for (let count = 0; count < 7; count += 1) seen.push((await fetch(`${url}/products`)).status);
  return seen;
}

describe('the built sample', () => {
  test('says first that it counts in memory, answers, limits, and ends cleanly on SIGTERM', async () => {
    const { child, url, lines } = await startMain();
    expect(lines[0]).toContain('Store: memory (set VALKEY_URL to count in Valkey)');
    expect(await (await fetch(`${url}/health`)).json()).toMatchObject({
      status: 'ok',
      details: { rateLimit: { status: 'up', store: 'memory', circuit: 'closed' } },
    });
    expect(await seven(url)).toEqual([200, 200, 200, 200, 200, 429, 429]);
    child.kill('SIGTERM');
    // Nest ends a process with the signal that it was asked to end by, after its hooks have run.
    expect(await endOf(child)).toEqual([null, 'SIGTERM']);
  });

  test('lets the office look as often as it likes', async () => {
    const { url } = await startMain({ OFFICE_NETWORKS: '192.0.2.0/24,127.0.0.0/8' });
    expect(await seven(url)).toEqual(Array(7).fill(200));
  });

  test('says first that it counts in Valkey, and where, and lets go of it on SIGTERM', async () => {
    const server = await ownValkey();
    const { child, url, lines } = await startMain({ VALKEY_URL: server.url });
    expect(lines[0]).toContain('Store: Valkey');
    expect(lines.join('\n')).toContain(`Counting in Valkey at 127.0.0.1:${server.port}`);
    expect(await seven(url)).toEqual([200, 200, 200, 200, 200, 429, 429]);
    child.kill('SIGTERM');
    expect(await endOf(child)).toEqual([null, 'SIGTERM']);
  });

  test('counts together with another process', async () => {
    const server = await ownValkey();
    const [one, other] = await Promise.all([
      startMain({ VALKEY_URL: server.url }),
      startMain({ VALKEY_URL: server.url }),
    ]);
    expect(await seven(one.url)).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect((await fetch(`${other.url}/products`)).status).toBe(429);
  });

  test('shows its OpenAPI page, with all that belongs to it', async () => {
    const { url } = await startMain();
    expect(await (await fetch(`${url}/docs`)).text()).toContain('./docs/swagger-ui-bundle.js');
    expect((await fetch(`${url}/docs/swagger-ui-bundle.js`)).status).toBe(200);
    expect(await (await fetch(`${url}/docs-json`)).json()).toMatchObject({
      paths: { '/products': { get: { responses: { 429: { headers: { 'Retry-After': {} } } } } } },
    });
  });

  test('tells nobody the password of its Valkey', async () => {
    const server = await ownValkey({ args: ['--requirepass', 'hunter2'] });
    const { url, output } = await startMain({ VALKEY_URL: `valkey://:hunter2@127.0.0.1:${server.port}` });
    expect(await seven(url)).toContain(429);
    expect(output()).not.toContain('hunter2');
  });
});
