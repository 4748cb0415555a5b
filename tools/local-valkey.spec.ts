import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { type LocalValkey, startValkey, startValkeys } from './local-valkey.js';

const started: LocalValkey[] = [];

async function start(...options: Parameters<typeof startValkey>): Promise<LocalValkey> {
  const valkey = await startValkey(...options);
  started.push(valkey);
  return valkey;
}

afterEach(() => Promise.all(started.splice(0).map((valkey) => valkey.stop())));

async function ask(port: number, command: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`${command}\r\n`);
  try {
    const [reply] = await once(socket, 'data');
    return String(reply);
  } finally {
    socket.destroy();
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('a local Valkey', () => {
  test('answers as soon as it is there, and says truly what it is', async () => {
    const valkey = await start();
    expect(valkey.url).toBe(`valkey://127.0.0.1:${valkey.port}`);
    expect(await ask(valkey.port, 'PING')).toBe('+PONG\r\n');
    const info = await ask(valkey.port, 'INFO server');
    expect(info).toContain(`${valkey.name}_version:${valkey.version}\r\n`);
    expect(info).toContain(`process_id:${valkey.pid}\r\n`);
  });

  test('keeps nothing on disk and lets tests use DEBUG', async () => {
    const { port } = await start();
    expect(await ask(port, 'CONFIG GET save')).toBe('*2\r\n$4\r\nsave\r\n$0\r\n\r\n');
    expect(await ask(port, 'CONFIG GET appendonly')).toContain('\r\nno\r\n');
    expect(await ask(port, 'DEBUG SLEEP 0')).toBe('+OK\r\n');
  });

  test('lives beside another one', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    expect(one.port).not.toBe(two.port);
    await ask(one.port, 'SET only here');
    expect(await ask(two.port, 'EXISTS only')).toBe(':0\r\n');
  });

  test('takes further options of the server, a password among them', async () => {
    const { port } = await start({ args: ['--requirepass', 'secret', '--maxmemory', '2mb'] });
    expect(await ask(port, 'PING')).toMatch(/^-NOAUTH/);
  });

  test('reads a config file, which its options win over', async () => {
    const { port } = await start({ config: 'maxmemory 2mb\nmaxclients 50\n', args: ['--maxclients', '60'] });
    expect(await ask(port, 'CONFIG GET maxmemory')).toContain('\r\n2097152\r\n');
    expect(await ask(port, 'CONFIG GET maxclients')).toContain('\r\n60\r\n');
  });

  test('stops: that process, its folder, and no other', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    await one.stop();
    expect([isRunning(one.pid), existsSync(one.dir)]).toEqual([false, false]);
    expect([isRunning(two.pid), existsSync(two.dir)]).toEqual([true, true]);
    await one.stop();
  });

  test('stops when it is frozen', async () => {
    const valkey = await start();
    valkey.kill('SIGSTOP');
    await valkey.stop();
    expect(isRunning(valkey.pid)).toBe(false);
  });

  test('comes back on the same port after it was killed', async () => {
    const first = await start();
    first.kill('SIGKILL');
    await first.stop();
    const second = await start({ port: first.port });
    expect(second.port).toBe(first.port);
    expect(await ask(second.port, 'PING')).toBe('+PONG\r\n');
  });

  test('does not outlive a process that was killed', async () => {
    const script = `
      import { startValkey } from ${JSON.stringify(new URL('./local-valkey.ts', import.meta.url).href)};
      const { port, dir } = await startValkey();
      console.log(JSON.stringify({ port, dir }));
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let left;
    try {
      const [line] = await once(parent.stdout, 'data');
      left = JSON.parse(String(line)) as { port: number; dir: string };
      expect(await ask(left.port, 'PING')).toBe('+PONG\r\n');
    } finally {
      parent.kill('SIGKILL');
    }
    const { port, dir } = left;
    for (let waited = 0; existsSync(dir) && waited < 4_000; waited += 50) await sleep(50);
    expect(existsSync(dir)).toBe(false);
    await expect(ask(port, 'PING')).rejects.toThrow('ECONNREFUSED');
  });
});

describe('a server that cannot be had', () => {
  test('a port that is taken', async () => {
    const { port } = await start();
    await expect(start({ port })).rejects.toThrow(/ended with code 1 .*Address already in use/s);
  });

  test('one of several: the others are ended', async () => {
    const { port, stop } = await start();
    await stop();
    const bad = { args: ['--no-such-option', 'x'] };
    await expect(startValkeys([{ port }, bad])).rejects.toThrow('no-such-option');
    await expect(ask(port, 'PING')).rejects.toThrow('ECONNREFUSED');
  });

  test('an option that the server refuses: its own words are in the error', async () => {
    await expect(start({ args: ['--no-such-option', 'x'] })).rejects.toThrow(
      /ended with code 1 before it answered.*--no-such-option x.*'no-such-option "x"'\nBad directive/s,
    );
  });

  test.each([
    [
      '/no/such/valkey-server',
      /VALKEY_SERVER is \/no\/such\/valkey-server, .* there is no \/no\/such\/valkey-server/,
    ],
    ['/dev/null', /VALKEY_SERVER is \/dev\/null, .* \/dev\/null may not be executed/],
    [process.execPath, /printed no version of a server: v\d+/],
  ])('VALKEY_SERVER=%s', async (path, message) => {
    const before = process.env['VALKEY_SERVER'];
    process.env['VALKEY_SERVER'] = path;
    try {
      await expect(start()).rejects.toThrow(message);
    } finally {
      if (before === undefined) delete process.env['VALKEY_SERVER'];
      else process.env['VALKEY_SERVER'] = before;
    }
  });
});
