import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { unpackedPackage } from './debian-package.js';

/** How to start a real nginx. */
export interface NginxCommand {
  readonly command: string;
  readonly env: NodeJS.ProcessEnv;
  /** Where it was found, in words for a person. */
  readonly origin: string;
  readonly version: string;
}

type Candidate = Omit<NginxCommand, 'version'>;

const exec = promisify(execFile);

let found: Promise<NginxCommand> | undefined;

/** Finds a real nginx, or gets one; looks once in a process. The error tells why each way failed. */
export function findNginx(): Promise<NginxCommand> {
  return (found ??= search());
}

async function search(): Promise<NginxCommand> {
  const failures: string[] = [];
  for (const [way, candidate] of [
    ['nginx on the PATH', onPath],
    ["the distribution's package, unpacked into .nginx/", unpackedNginx],
  ] as const) {
    try {
      return await tried(await candidate());
    } catch (error) {
      failures.push(`- ${way}: ${messageOf(error)}`);
    }
  }
  throw new Error(
    `No nginx was found, and none could be got. Tried:\n${failures.join('\n')}\n` +
      'Install nginx so that it is on the PATH (Debian and Ubuntu: apt install nginx-core, macOS: brew install nginx).',
  );
}

function onPath(): Candidate {
  return { command: 'nginx', env: process.env, origin: 'nginx on the PATH' };
}

async function unpackedNginx(): Promise<Candidate> {
  const { root, env, origin } = await unpackedPackage({
    name: 'nginx',
    packages: ['nginx'],
    folder: '.nginx',
    releases: 'Debian 12, Ubuntu 24.04 or newer',
  });
  return { command: join(root, 'usr/sbin/nginx'), env, origin };
}

/** Proves that the candidate runs, by asking its version. */
async function tried(candidate: Candidate): Promise<NginxCommand> {
  const { command, env } = candidate;
  const { stderr } = await exec(command, ['-v'], { env });
  const [, version] = /^nginx version: nginx\/(\S+)/m.exec(stderr) ?? [];
  if (!version) throw new Error(`${command} -v printed no version of nginx: ${stderr.trim()}`);
  return { ...candidate, version };
}

function messageOf(error: unknown): string {
  const { code, message, path } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' && path) return `there is no ${path}`;
  return message.trim().replaceAll('\n', '\n  ');
}
