import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { findValkeyServer } from '../../../tools/valkey-binary.js';
import { run } from './program.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

describe('the command line', () => {
  it.each(['memory', 'valkey'])('compares on %s and prints one JSON document', async (store) => {
    const { code, out, err } = await lab(['compare', '--store', store, '--json']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const { traffic, runOn } = JSON.parse(out);
    expect(traffic.edge['fixed-window']).toMatchObject({ allowed: 20, requests: 20, mostInOneSecond: 20 });
    expect(traffic.edge['sliding-counter']).toMatchObject({ allowed: 11, mostInOneSecond: 11 });
    expect(traffic.steady['token-bucket']).toMatchObject({ allowed: 69, requests: 180 });
    expect(traffic.edge['leaky-bucket']).toMatchObject({ longestWaitMs: 8_550, mostInOneSecond: 2 });
    expect(runOn.node).toBe(process.version);
    expect(runOn.server).toMatch(store === 'memory' ? /^memory$/ : /^(valkey|redis) \d/);
  });

  it('prints nothing but the table', async () => {
    const { code, out, err } = await lab(['compare']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const lines = out.split('\n');
    expect(lines.slice(0, 7).every((line) => line.startsWith('| '))).toBe(true);
    expect(lines.slice(7)).toEqual(['', `Run on memory, Node ${process.version}.`, '']);
  });

  it('ends with exit code 2 when it is asked for what there is not', async () => {
    const { code, out, err } = await lab(['weigh']);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain("unknown command 'weigh'");
  });

  it('says what is wrong with a Valkey that does not answer, and keeps its password to itself', async () => {
    const url = 'valkey://lab:secret@127.0.0.1:1';
    const { code, out, err } = await lab(['memory'], { VALKEY_URL: url });
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain('No Valkey answers at valkey://127.0.0.1:1: connect ECONNREFUSED');
    expect(err).not.toContain('secret');
  });

  it('helps', async () => {
    const { code, out } = await lab(['--help']);
    expect(code).toBe(0);
    for (const command of ['compare', 'memory', 'race', 'picture', 'adaptive', 'replay', 'suggest'])
      expect(out).toContain(command);
  });
});

describe('bad usage', () => {
  afterEach(() => void jest.restoreAllMocks());

  it.each([
    ['no command', [], 'Usage: lab'],
    ['an unknown command', ['compres'], 'Did you mean compare?'],
    ['an unknown option', ['compare', '--limit', '5'], "unknown option '--limit'"],
    ['an unknown store', ['compare', '--store', 'disk'], 'Allowed choices are memory, valkey'],
    ['too much', ['race', 'now'], 'too many arguments'],
    ['memory without a Valkey', ['memory', '--store', 'memory'], '"lab memory" needs a Valkey'],
    ['a race without a Valkey', ['race', '--store', 'memory'], '"lab race" needs a Valkey'],
    ['pictures for nowhere', ['picture'], "required option '--out <folder>'"],
    ['pictures into a file', ['picture', '--out', 'package.json'], 'cannot be made a folder'],
    ['pictures too deep', ['picture', '--out', 'docs/no/where'], 'Make the folder that it is in first'],
  ])('refuses %s', async (_, args, message) => {
    const { code, out, err } = await inThisProcess(args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
  });
});

describe('a server of its own', () => {
  let folder: string;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lab-spec-'));
    const server = await findValkeyServer();
    const [wrapper, pidFile] = [join(folder, 'server'), join(folder, 'pid')];
    const command = [server.command, ...server.args].map((part) => `'${part}'`).join(' ');
    await writeFile(
      wrapper,
      `#!/bin/sh\n[ "$1" = --version ] || echo $$ >${pidFile}\nexec ${command} "$@"\n`,
    );
    await chmod(wrapper, 0o755);
    env = { ...server.env, VALKEY_URL: '', VALKEY_SERVER: wrapper };
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('ends with the run', async () => {
    const { code, out } = await lab(['compare', '--store', 'valkey'], env);
    expect(code).toBe(0);
    expect(out).toContain('Run on ');
    expect(await serverRuns()).toBe(false);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('ends on %s', async (signal, exitCode) => {
    await rm(join(folder, 'pid'), { force: true });
    const child = start(['race'], env);
    const finished = finish(child);
    while (!(await serverRuns())) await sleep(20);
    // Until it is at work, and not only starting.
    await sleep(1_000);
    child.kill(signal);
    const { code, out, err } = await finished;
    expect({ code, out, err }).toEqual({ code: exitCode, out: '', err: '' });
    expect(await serverRuns()).toBe(false);
  });

  async function serverRuns(): Promise<boolean> {
    const pid = Number(await readFile(join(folder, 'pid'), 'utf8').catch(() => ''));
    if (pid === 0) return false;
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  }
});

/** A process for each would take seconds. */
async function inThisProcess(args: readonly string[]) {
  let [out, err] = ['', ''];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => ((out += text), true));
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => ((err += text), true));
  const code = await run(args);
  return { code, out, err };
}

async function lab(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return finish(start(args, env));
}

function start(args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(process.execPath, ['--import', 'tsx', 'apps/lab/src/main.ts', ...args], {
    cwd: ROOT,
    env: { ...process.env, VALKEY_URL: process.env['TEST_VALKEY_URL'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function finish(child: ChildProcess) {
  let [out, err] = ['', ''];
  child.stdout!.on('data', (data) => (out += data));
  child.stderr!.on('data', (data) => (err += data));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, out, err };
}
