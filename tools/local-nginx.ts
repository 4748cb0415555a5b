import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findNginx, type NginxCommand } from './nginx-binary.js';
import { end, freePort, launch, type ServerProcess } from './server-process.js';

export interface LocalNginxOptions {
  /** What stands in its `server` block, such as `location / { proxy_pass http://127.0.0.1:3000; }`. */
  readonly server: string;
  /** Its address on the loopback: where it listens, and from where it asks others. 127.0.0.1 unless said otherwise. */
  readonly address?: string;
  /** Where it listens as well, on the same port. */
  readonly alsoAt?: string;
}

export interface LocalNginx {
  readonly address: string;
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  readonly version: string;
  readonly origin: string;
  /** Ends it. May be called again. */
  stop(): Promise<void>;
}

/** Where it answers, and under which path it answers itself. */
interface Place {
  readonly address: string;
  readonly port: number;
  readonly ready: string;
}

const START_LIMIT_MS = 10_000;
const PORT_ATTEMPTS = 5;
const LOG = 'error.log';

/** Starts an nginx of its own on the loopback, as one process without root, and waits until it answers. */
export async function startNginx(options: LocalNginxOptions): Promise<LocalNginx> {
  const nginx = await findNginx();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(nginx, options);
    } catch (error) {
      // Between choosing a port and using it, somebody else may have taken it.
      const portTaken = (error as Error).message.includes('Address already in use');
      if (!portTaken || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

async function startOnce(nginx: NginxCommand, options: LocalNginxOptions): Promise<LocalNginx> {
  const { address = '127.0.0.1' } = options;
  const place = { address, port: await freePort(address), ready: `/${randomBytes(12).toString('hex')}` };
  const folder = await mkdtemp(join(tmpdir(), 'local-nginx-'));
  const tidy = () => rm(folder, { recursive: true, force: true });
  try {
    await writeFile(join(folder, 'nginx.conf'), configOf(place, options));
    const { command, env } = nginx;
    const args = ['-p', folder, '-c', 'nginx.conf', '-e', LOG];
    const running = await launch(command, args, { env, folder, output: join(folder, 'output') });
    await ready(running, nginx, place, folder);
    let stopped: Promise<void> | undefined;
    return {
      ...place,
      url: `http://${address}:${place.port}`,
      pid: running.child.pid!,
      version: nginx.version,
      origin: nginx.origin,
      stop: () => (stopped ??= end(running, 'SIGTERM').then(tidy)),
    };
  } catch (error) {
    await tidy();
    throw error;
  }
}

/** Every path is relative to its folder, so that it touches nothing of an nginx that is installed. */
function configOf({ address, port, ready: path }: Place, { server, alsoAt }: LocalNginxOptions): string {
  const listens = [address, alsoAt].filter((each) => each !== undefined);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
daemon off;
master_process off;
pid nginx.pid;
error_log ${LOG} notice;
events {}
http {
  access_log off;
  ${temporary.map((what) => `${what}_temp_path ${what};`).join('\n  ')}
  proxy_bind ${address};
  server {
    ${listens.map((each) => `listen ${hostOf(each)}:${port};`).join('\n    ')}
    location = ${path} { return 204; }
    ${server.trim().replaceAll('\n', '\n    ')}
  }
}
`.trimStart();
}

function hostOf(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

async function ready(
  running: ServerProcess,
  nginx: NginxCommand,
  place: Place,
  folder: string,
): Promise<void> {
  const deadline = Date.now() + START_LIMIT_MS;
  while (!running.hasExited() && Date.now() < deadline) {
    if (await answers(place)) return;
    await Promise.race([sleep(10), running.exited]);
  }
  const what = running.hasExited()
    ? `ended ${await running.exited} before it answered`
    : `did not answer within ${START_LIMIT_MS} ms`;
  await end(running, 'SIGKILL');
  const read = (file: string) => readFile(join(folder, file), 'utf8').catch(() => '');
  const said = [await read('output'), await read(LOG), 'Its configuration:', await read('nginx.conf')];
  throw new Error(`nginx ${nginx.version} (${nginx.origin}) ${what}.\n${said.join('\n')}`);
}

/** Whether it is ours that answers: nobody else knows the path. */
function answers({ address, port, ready: path }: Place): Promise<boolean> {
  return new Promise((resolve) => {
    const asking = request({ host: address, port, path, agent: false, timeout: 1_000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 204);
    });
    asking.once('timeout', () => asking.destroy());
    asking.once('error', () => resolve(false));
    asking.end();
  });
}
