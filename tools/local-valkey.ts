import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { findValkeyServer, type ServerCommand } from './valkey-binary.js';

export interface LocalValkeyOptions {
  /** Options of the server after ours, so that they win: `['--maxmemory', '1mb']`. Leave `loglevel` at notice. */
  readonly args?: readonly string[];
  /** A port to insist on, for a server that comes back where it was. A free one is chosen otherwise. */
  readonly port?: number;
  /** A working folder that is kept. Otherwise a temporary one, removed with the server. */
  readonly dir?: string;
  /** Text of a config file in the working folder, for what is no option. The server may write to it. */
  readonly config?: string;
  /** Makes it speak TLS, and nothing else, on its port. */
  readonly tls?: TlsFiles;
}

/** Paths of PEM files. The server must be able to read them: one inside a container can't. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
  /** Whether clients must show a certificate of that CA. They need not, unless this says so. */
  readonly authClients?: boolean;
}

export interface LocalValkey {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  readonly name: ServerCommand['name'];
  readonly version: string;
  readonly origin: string;
  /** Working folder of the server; its log is `server.log` in there. */
  readonly dir: string;
  /** Sends a signal at once. After SIGKILL, `stop()` waits for the end and tidies up. */
  kill(signal: NodeJS.Signals): void;
  /** Ends the server, also one that is frozen. May be called again. */
  stop(): Promise<void>;
}

/** One server process with everything that must go when it goes. */
interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly port: number;
  readonly logFile: string;
  readonly exited: Promise<string>;
  hasExited(): boolean;
}

const HOST = '127.0.0.1';
const START_LIMIT_MS = 10_000;
const END_LIMIT_MS = 3_000;
const PORT_ATTEMPTS = 5;
const CONFIG_FILE = 'valkey.conf';
/** What the log says at last: of a server, or of a sentinel. */
const READY = /Ready to accept connections|Sentinel ID is/;
/** A cluster node also listens 10,000 above its port. */
const HIGHEST_PORT = 65_535 - 10_000;

/** Starts a server of its own on the loopback, without persistence, and waits until it answers. */
export async function startValkey(options: LocalValkeyOptions = {}): Promise<LocalValkey> {
  const server = await findValkeyServer();
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(server, options);
    } catch (error) {
      // Between choosing a port and using it, somebody else may have taken it.
      const portTaken = (error as Error).message.includes('Address already in use');
      if (!portTaken || options.port !== undefined || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

/** Starts several at once. When one of them cannot be had, the others are ended before the error is thrown. */
export async function startValkeys(options: readonly LocalValkeyOptions[]): Promise<LocalValkey[]> {
  const starts = await Promise.allSettled(options.map((each) => startValkey(each)));
  const started = starts.flatMap((start) => (start.status === 'fulfilled' ? start.value : []));
  const failure = starts.find((start) => start.status === 'rejected');
  if (!failure) return started;
  await Promise.all(started.map((valkey) => valkey.stop()));
  throw failure.reason;
}

async function startOnce(server: ServerCommand, options: LocalValkeyOptions): Promise<LocalValkey> {
  const port = options.port ?? (await freePort());
  const temporary = options.dir === undefined;
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'local-valkey-')));
  const tidy = async () => {
    if (temporary) await rm(dir, { recursive: true, force: true });
  };
  try {
    await mkdir(dir, { recursive: true });
    const running = await launch(server, port, dir, options);
    guard(running, temporary ? dir : '');
    await ready(running, server, options.tls !== undefined);
    return handle(running, server, dir, options.tls ? 'valkeys' : 'valkey', tidy);
  } catch (error) {
    await tidy();
    throw error;
  }
}

async function launch(
  server: ServerCommand,
  port: number,
  dir: string,
  { args = [], config, tls }: LocalValkeyOptions,
): Promise<Running> {
  const logFile = join(dir, 'server.log');
  const log = await open(logFile, 'w');
  const configFile = config === undefined ? [] : [CONFIG_FILE];
  if (config !== undefined) await writeFile(join(dir, CONFIG_FILE), config);
  const listen = tls ? tlsArgs(port, tls) : ['--port', String(port)];
  const ours = [...configFile, ...listen, '--bind', HOST, '--save', '', '--appendonly', 'no'];
  // DEBUG lets tests freeze and fill the server; nobody waits for replicas at the end of a test.
  const forTests = ['--enable-debug-command', 'local', '--shutdown-timeout', '0'];
  const child = spawn(server.command, [...server.args, ...ours, ...forTests, ...args], {
    cwd: dir, // its data folder, also where --dir could not be reached: inside a container
    env: server.env,
    stdio: ['ignore', log.fd, log.fd],
    detached: true, // Ctrl-C is for the one who started it, who may need the server while shutting down
  });
  let gone = false;
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ? `by ${signal}` : `with code ${code}`));
    child.once('error', (error) => resolve(`before it ran: ${error.message}`));
  }).finally(() => (gone = true));
  await log.close();
  child.unref(); // a forgotten server must not keep its starter alive
  return { child, pid: child.pid ?? 0, port, logFile, exited, hasExited: () => gone };
}

function tlsArgs(port: number, { certFile, keyFile, caFile, authClients = false }: TlsFiles): string[] {
  const files = ['--tls-cert-file', certFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', caFile];
  const auth = ['--tls-auth-clients', authClients ? 'yes' : 'no'];
  return ['--port', '0', '--tls-port', String(port), ...files, ...auth];
}

/**
 * Ends the server when this process is gone, however that came about (SIGKILL runs no exit handler): a shell waits
 * for the end of a pipe that only this process holds open. It also removes the temporary folder.
 */
function guard({ pid, exited }: Running, folder: string): void {
  if (pid === 0) return;
  const script =
    'read -r _; kill -TERM $1; kill -CONT $1; sleep 1; kill -KILL $1; [ -z "$2" ] || rm -rf -- "$2"';
  const shell = spawn('sh', ['-c', script, 'sh', String(pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  shell.unref();
  void exited.then(() => shell.kill('SIGKILL'));
}

async function ready(running: Running, server: ServerCommand, tls: boolean): Promise<void> {
  const { port, logFile } = running;
  const deadline = Date.now() + START_LIMIT_MS;
  while (!running.hasExited() && Date.now() < deadline) {
    // Its own log must say so too: on a port that was snatched away, somebody else's server answers.
    const log = await readFile(logFile, 'utf8');
    if (READY.test(log) && (await (tls ? shakesHands(port) : answers(port)))) return;
    await Promise.race([sleep(10), running.exited]);
  }
  const what = running.hasExited()
    ? `ended ${await running.exited} before it answered`
    : `did not answer within ${START_LIMIT_MS} ms`;
  await end(running, 'SIGKILL');
  const log = (await readFile(logFile, 'utf8')).trim().split('\n').slice(-15).join('\n');
  const command = running.child.spawnargs
    .map((arg) => (/^[\w./:=-]+$/.test(arg) ? arg : `'${arg}'`))
    .join(' ');
  throw new Error(
    `The ${server.name} server (${server.origin}) ${what} on ${HOST}:${port}.\nCommand: ${command}\nIts log:\n${log}`,
  );
}

function handle(
  running: Running,
  server: ServerCommand,
  dir: string,
  scheme: string,
  tidy: () => Promise<void>,
): LocalValkey {
  const { child, pid, port } = running;
  let stopped: Promise<void> | undefined;
  return {
    port,
    url: `${scheme}://${HOST}:${port}`,
    pid,
    name: server.name,
    version: server.version,
    origin: server.origin,
    dir,
    kill: (signal) => void child.kill(signal),
    stop: () => (stopped ??= end(running, 'SIGTERM').then(tidy)),
  };
}

async function end({ child, exited }: Running, signal: NodeJS.Signals): Promise<void> {
  child.ref();
  child.kill(signal);
  child.kill('SIGCONT'); // a stopped process sees SIGTERM only when it goes on
  const timer = setTimeout(() => child.kill('SIGKILL'), END_LIMIT_MS);
  await exited;
  clearTimeout(timer);
}

/** Any answer to PING counts, as a server that asks for a password is up too, except that it is still loading. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: HOST, port, timeout: 1_000 });
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => socket.write('*1\r\n$4\r\nPING\r\n'));
    socket.once('data', (reply) => done(!reply.toString().startsWith('-LOADING')));
    socket.once('timeout', () => done(false));
    socket.once('error', () => done(false));
    socket.once('close', () => done(false));
  });
}

/** With TLS the handshake is the answer: the server may want a certificate before it hears any command. */
function shakesHands(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTls({ host: HOST, port, timeout: 1_000, rejectUnauthorized: false });
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('secureConnect', () => done(true));
    socket.once('timeout', () => done(false));
    socket.on('error', () => done(false)); // more than one may come
    socket.once('close', () => done(false));
  });
}

async function freePort(): Promise<number> {
  const probe = createServer();
  const port = await new Promise<number>((resolve, reject) => {
    probe.once('error', reject);
    probe.listen(0, HOST, () => resolve((probe.address() as AddressInfo).port));
  });
  await new Promise((resolve) => probe.close(resolve));
  return port <= HIGHEST_PORT ? port : freePort();
}
