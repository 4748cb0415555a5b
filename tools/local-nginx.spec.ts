import { access } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { startNginx } from './local-nginx.js';

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test('answers as it was told, and is gone after stop', async () => {
  const nginx = await startNginx({ server: "location / { return 200 'here'; }" });
  try {
    expect(await (await fetch(nginx.url)).text()).toBe('here');
    expect(nginx.version).toMatch(/^\d+\.\d+/);
  } finally {
    await Promise.all([nginx.stop(), nginx.stop()]);
  }
  expect(isRunning(nginx.pid)).toBe(false);
  await expect(fetch(nginx.url)).rejects.toThrow();
});

test('explains why it did not start, and leaves nothing behind', async () => {
  const failing = startNginx({ server: 'locatoin / {}' });
  await expect(failing).rejects.toThrow(/ended with code 1[^]*unknown directive "locatoin"/);
  const message = await failing.catch((error: Error) => error.message);
  const folder = /in (\S+)\/nginx\.conf/.exec(String(message))?.[1];
  await expect(access(folder!)).rejects.toThrow('ENOENT');
});
