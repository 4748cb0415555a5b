import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { unpackedValkey } from './debian-valkey.js';

/** How to start a real server: `command` with `args` and then the server's own options. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Where it was found, in words for a person. */
  readonly origin: string;
  readonly name: 'valkey' | 'redis';
  readonly version: string;
}

/** A way to get a server, before anybody has tried whether it runs. */
type Candidate = Pick<ServerCommand, 'command' | 'args' | 'env' | 'origin'>;

const exec = promisify(execFile);
const DOCKER_IMAGE = 'valkey/valkey:8';

/**
 * Finds a real Valkey, or gets one. `VALKEY_SERVER` is an order and is never passed over; the other ways are tried
 * one after the other, and the error tells why each of them failed.
 */
export async function findValkeyServer(): Promise<ServerCommand> {
  const chosen = process.env['VALKEY_SERVER'];
  if (chosen) return fromEnvironment(chosen);

  const failures: string[] = [];
  for (const [way, candidate] of [
    ['valkey-server on the PATH', onPath],
    ["the distribution's package, unpacked into .valkey/", unpackedValkey],
    [`Docker with ${DOCKER_IMAGE}`, inDocker],
  ] as const) {
    try {
      return await tried(await candidate());
    } catch (error) {
      failures.push(`- ${way}: ${messageOf(error)}`);
    }
  }
  throw new Error(
    `No Valkey server was found, and none could be got. Tried:\n${failures.join('\n')}\n` +
      'Install Valkey so that valkey-server is on the PATH (Debian and Ubuntu: apt install valkey-server, ' +
      'macOS: brew install valkey), or set VALKEY_SERVER to the path of a valkey-server or redis-server (7.0 or newer).',
  );
}

async function fromEnvironment(path: string): Promise<ServerCommand> {
  try {
    // Absolute, as the server is started in a folder of its own.
    return await tried({
      command: resolve(path),
      args: [],
      env: process.env,
      origin: `VALKEY_SERVER=${path}`,
    });
  } catch (error) {
    throw new Error(
      `VALKEY_SERVER is ${path}, but that is no server that runs here: ${messageOf(error)}\n` +
        'Set it to the path of a valkey-server or redis-server, or unset it to have one found.',
      { cause: error },
    );
  }
}

function onPath(): Candidate {
  return { command: 'valkey-server', args: [], env: process.env, origin: 'valkey-server on the PATH' };
}

/** Linux only: elsewhere the engine's "host" is a virtual machine whose ports are not those of this loopback. */
async function inDocker(): Promise<Candidate> {
  if (process.platform !== 'linux') throw new Error('only used on Linux, for its host network');
  await exec('docker', ['info']);
  return {
    command: 'docker',
    args: ['run', '--rm', '--init', '--network', 'host', DOCKER_IMAGE, 'valkey-server'],
    env: process.env,
    origin: `Docker, ${DOCKER_IMAGE}`,
  };
}

/** Proves that the candidate runs, by asking its version: for Docker this is also what pulls the image. */
async function tried(candidate: Candidate): Promise<ServerCommand> {
  const { command, args, env } = candidate;
  const { stdout } = await exec(command, [...args, '--version'], { env });
  const [, name, version] = /^(Valkey|Redis) server v=(\S+)/i.exec(stdout) ?? [];
  if (!name || !version)
    throw new Error(`${command} --version printed no version of a server: ${stdout.trim()}`);
  return { ...candidate, name: name.toLowerCase() as ServerCommand['name'], version };
}

function messageOf(error: unknown): string {
  const { code, message, path } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' && path) return `there is no ${path}`;
  if (code === 'EACCES' && path) return `${path} may not be executed (permission denied)`;
  return message.trim().replaceAll('\n', '\n  ');
}
