import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { run } from '../program.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const POLICY = ['--policy', 'api=fixed-window:2/1m'];

const line = (second: string, ip = '192.0.2.7') =>
  `${ip} - - [01/Mar/2026:12:00:${second} +0000] "GET / HTTP/1.1" 200 5 "-" "curl/8"\n`;
const LOG = ['00', '01', '02', '03'].map((second) => line(second)).join('');

describe('the commands that read logs', () => {
  let folder: string;
  let log: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lab-replay-'));
    log = join(folder, 'access.log');
    await writeFile(log, LOG);
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));
  afterEach(() => void jest.restoreAllMocks());

  it('replays what comes through a pipe, packed or not', async () => {
    for (const bytes of [Buffer.from(LOG), gzipSync(LOG)]) {
      const { code, out, err } = await piped(['replay', '-', ...POLICY, '--json'], bytes);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(JSON.parse(out)).toMatchObject({ requests: 4, policies: [{ name: 'api', requestsRefused: 2 }] });
    }
  });

  it('reads several logs in their order, packed without a name that says so', async () => {
    const older = join(folder, 'access.log.1');
    await writeFile(older, gzipSync(line('00', '192.0.2.8')));
    const { code, out } = await inThisProcess(['replay', older, log, ...POLICY, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ requests: 5, clients: 2, reading: { late: 0 } });
  });

  it('prints a table and writes a page', async () => {
    const html = join(folder, 'out.html');
    const { code, out, err } = await inThisProcess(['replay', log, ...POLICY, '--html', html]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('4 requests of 1 clients, told apart by ip, from 2026-03-01 12:00:00 UTC');
    expect(out).toMatch(/\| requests refused +\| 2 of 4 \(50 %\) +\|/);
    expect(out).toMatch(/\| refused most +\| 192.0.2.7 \(2 of 4\) +\|/);
    expect(await readFile(html, 'utf8')).toMatch(/^<!doctype html>.*192\.0\.2\.7.*<\/html>\n$/s);
  });

  it('suggests', async () => {
    const { code, out } = await inThisProcess(['suggest', log, '--refuse', '0%', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ algorithm: 'token-bucket', window: '1m', limit: 4, refused: 0 });
  });

  it.each([
    ['no log', ['replay', ...POLICY], "missing required argument 'log'"],
    ['no policy', ['replay', 'LOG'], "required option '--policy"],
    ['a log that is not there', ['replay', 'no.log', ...POLICY], 'no.log cannot be read'],
    ['a folder', ['replay', 'apps', ...POLICY], 'apps is a folder'],
    ['the standard input twice', ['replay', '-', '-', ...POLICY], '- is named twice'],
    ['a policy without a name', ['replay', 'LOG', '--policy', 'fixed-window:1/1m'], 'it has no name'],
    ['a policy without a window', ['replay', 'LOG', '--policy', 'a=fixed-window:1'], 'in how long'],
    [
      'an option without a value',
      ['replay', 'LOG', '--policy', 'a=token-bucket:1/1m:burst'],
      '"burst" is no option',
    ],
    ['an algorithm that is none', ['replay', 'LOG', '--policy', 'a=bucket:1/1m'], 'algorithm must be one of'],
    [
      'a window that is none',
      ['replay', 'LOG', '--policy', 'a=fixed-window:1/min'],
      'policy "a": window must be',
    ],
    ['an option that is none', ['replay', 'LOG', '--policy', 'a=fixed-window:1/1m:bust=1'], 'bust'],
    ['concurrency', ['replay', 'LOG', '--policy', 'a=concurrency:1/1m'], 'concurrency cannot be replayed'],
    ['two of a name', ['replay', 'LOG', ...POLICY, ...POLICY], 'two are called "api"'],
    ['an empty key', ['replay', 'LOG', ...POLICY, '--key', 'ip+'], '--key ip+'],
    ['a field that logs lack', ['replay', 'LOG', ...POLICY, '--key', 'tenant'], 'has no field "tenant"'],
    ['no clients', ['replay', 'LOG', ...POLICY, '--clients', '0'], 'a whole number from 1 to 1000000'],
    ['a page in no folder', ['replay', 'LOG', ...POLICY, '--html', 'no/where.html'], 'there is no folder no'],
    ['a page instead of the log', ['replay', 'LOG', ...POLICY, '--html', 'LOG'], 'is the log itself'],
    ['a share that is none', ['suggest', 'LOG', '--refuse', '0.01'], 'a share below 100 %'],
    ['a suggestion for a window that is none', ['suggest', 'LOG', '--window', '1 m'], 'window must be'],
    ['a suggestion from a pipe', ['suggest', '-'], 'Save it to a file'],
    ['a suggestion by quota', ['suggest', 'LOG', '--algorithm', 'quota'], 'Allowed choices are'],
  ])('refuses %s', async (_, args, message) => {
    const { code, out, err } = await inThisProcess(args.map((arg) => (arg === 'LOG' ? log : arg)));
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
  });

  it('fails where nothing can be read', async () => {
    const { code, err } = await inThisProcess(['replay', 'package.json', ...POLICY]);
    expect(code).toBe(1);
    expect(err).toContain('error: None of ');
    expect(await readFile(log, 'utf8')).toBe(LOG);
  });
});

async function inThisProcess(args: readonly string[]) {
  let [out, err] = ['', ''];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => ((out += text), true));
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => ((err += text), true));
  const code = await run(args);
  return { code, out, err };
}

async function piped(args: readonly string[], input: Buffer) {
  const child = spawn(process.execPath, ['--import', 'tsx', 'apps/lab/src/main.ts', ...args], { cwd: ROOT });
  let [out, err] = ['', ''];
  child.stdout.on('data', (data) => (out += data));
  child.stderr.on('data', (data) => (err += data));
  child.stdin.end(input);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, out, err };
}
