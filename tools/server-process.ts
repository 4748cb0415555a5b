import { type ChildProcess, spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';

/** A server that runs, with everything that must go when it goes. */
export interface ServerProcess {
  readonly child: ChildProcess;
  /** Settles when it has ended, and tells how. */
  readonly exited: Promise<string>;
  hasExited(): boolean;
}

export interface ServerProcessOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Its working folder, which goes when this process does. */
  readonly folder: string;
  /** Where what it says goes. */
  readonly output: string;
}

const END_LIMIT_MS = 3_000;

/** Starts a server. It ends when this process does, if nobody ends it before. */
export async function launch(
  command: string,
  args: readonly string[],
  { env, folder, output }: ServerProcessOptions,
): Promise<ServerProcess> {
  const said = await open(output, 'w');
  const child = spawn(command, args, {
    cwd: folder,
    env,
    stdio: ['ignore', said.fd, said.fd],
    detached: true, // Ctrl-C is for the one who started it
  });
  let gone = false;
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ? `by ${signal}` : `with code ${code}`));
    child.once('error', (error) => resolve(`before it ran: ${error.message}`));
  }).finally(() => (gone = true));
  await said.close();
  child.unref(); // a forgotten server must not keep its starter alive
  const running = { child, exited, hasExited: () => gone };
  guard(running, folder);
  return running;
}

/**
 * Ends the server when this process is gone, however that came about (SIGKILL runs no exit handler): a shell waits for
 * the end of a pipe that only this process holds open. It also removes the folder.
 */
function guard({ child, exited }: ServerProcess, folder: string): void {
  if (child.pid === undefined) return;
  const script = 'read -r _; kill -TERM $1; sleep 1; kill -KILL $1; rm -rf -- "$2"';
  const shell = spawn('sh', ['-c', script, 'sh', String(child.pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  shell.unref();
  void exited.then(() => shell.kill('SIGKILL'));
}

/** Ends a server, by force if it takes its time, and waits until it has. */
export async function end({ child, exited }: ServerProcess, signal: NodeJS.Signals): Promise<void> {
  child.ref();
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), END_LIMIT_MS);
  await exited;
  clearTimeout(timer);
}

export async function freePort(address: string): Promise<number> {
  const probe = createServer();
  const port = await new Promise<number>((resolve, reject) => {
    probe.once('error', reject);
    probe.listen(0, address, () => resolve((probe.address() as AddressInfo).port));
  });
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
